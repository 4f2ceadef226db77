#include "core/sort_keys.h"

#include <algorithm>

namespace tercel {

std::optional<std::vector<SortKey>> parseSortKeys(std::string_view text) {
  std::vector<SortKey> keys;
  for (;;) {
    std::string_view word = text.substr(0, text.find(','));
    bool last = word.size() == text.size();
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    SortKey key;
    key.descending = word.starts_with('-');
    if (key.descending) word.remove_prefix(1);
    key.total = word.ends_with('!');
    if (key.total) word.remove_suffix(1);
    std::optional<DType> dtype = dtypeFromName(word);
    if (!dtype || isComplex(*dtype) || (key.total && !isFloat(*dtype))) return std::nullopt;
    key.dtype = *dtype;
    keys.push_back(key);
    if (last) return keys;
  }
}

std::string print(const std::vector<SortKey>& keys) {
  std::string text;
  for (const SortKey& key : keys) {
    if (!text.empty()) text += ',';
    if (key.descending) text += '-';
    text += dtypeName(key.dtype);
    if (key.total) text += '!';
  }
  return text;
}

}  // namespace tercel
