// Writes MLIR bytecode (version 6) for tests: what no compiler would write, and small programs
// without JAX.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tercel::stablehlo {

inline std::string varint(uint64_t value) {
  int bytes = 1;
  while (bytes < 9 && value >> (7 * bytes) != 0) ++bytes;
  std::string out;
  if (bytes == 9) {
    out += '\0';
    for (int i = 0; i < 8; ++i) out += static_cast<char>(value >> (8 * i));
    return out;
  }
  uint64_t word = ((value << 1) | 1) << (bytes - 1);
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(word >> (8 * i));
  return out;
}
inline std::string varints(std::initializer_list<uint64_t> values) {
  std::string out;
  for (uint64_t v : values) out += varint(v);
  return out;
}
inline std::string svarint(int64_t value) {
  return varint((static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
}

enum TestDialect : uint32_t { kBuiltin, kVhlo, kSdy, kStrange };

class ArtifactWriter {
 public:
  uint32_t string(std::string_view text) {
    strings_.emplace_back(text);
    return static_cast<uint32_t>(strings_.size() - 1);
  }
  // An entry's bytes start with its code.
  uint32_t attr(TestDialect dialect, std::string bytes) {
    attrs_.push_back({dialect, std::move(bytes)});
    return static_cast<uint32_t>(attrs_.size() - 1);
  }
  uint32_t type(TestDialect dialect, std::string bytes) {
    types_.push_back({dialect, std::move(bytes)});
    return static_cast<uint32_t>(types_.size() - 1);
  }
  uint32_t op(TestDialect dialect, std::string_view name) {
    ops_.push_back({dialect, varint(2 * string(name) + 1)});
    return static_cast<uint32_t>(ops_.size() - 1);
  }
  uint32_t properties(std::initializer_list<uint64_t> attrs) {
    properties_.push_back(varints(attrs));
    return static_cast<uint32_t>(properties_.size() - 1);
  }
  uint32_t text(std::string_view t) { return attr(kVhlo, varints({14, string(t)})); }

  std::string finish(const std::string& ir, uint64_t version = 6) {
    std::string dialects = varint(4);
    for (const char* name : {"builtin", "vhlo", "sdy", "strange"})
      dialects += varint(2 * string(name));
    dialects += varint(ops_.size());
    for (const Entry& op : ops_) dialects += varints({op.dialect, 1}) + op.bytes;
    std::string offsets = varints({attrs_.size(), types_.size()}), data;
    for (const auto* entries : {&attrs_, &types_})
      for (const Entry& e : *entries) {
        offsets += varints({e.dialect, 1, 2 * e.bytes.size() + 1});
        data += e.bytes;
      }
    std::string properties = varint(properties_.size());
    for (const std::string& blob : properties_) properties += varint(blob.size()) + blob;
    std::string sizes = varint(strings_.size()), characters;
    for (size_t i = strings_.size(); i-- > 0;) sizes += varint(strings_[i].size() + 1);
    for (const std::string& s : strings_) characters += s + '\0';
    return "ML\xefR" + varint(version) + "StableHLO_v1.17.0" + '\0' +
           section(0, sizes + characters) + section(1, dialects) + section(2, data) +
           section(3, offsets) + section(8, properties) + section(4, ir);
  }

  static std::string section(int id, const std::string& bytes) {
    return std::string(1, static_cast<char>(id)) + varint(bytes.size()) + bytes;
  }

 private:
  struct Entry {
    TestDialect dialect;
    std::string bytes;
  };
  std::vector<std::string> strings_;
  std::vector<Entry> attrs_, types_, ops_;
  std::vector<std::string> properties_;
};

}  // namespace tercel::stablehlo
