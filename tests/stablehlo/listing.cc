#include "stablehlo/listing.h"

#include <array>
#include <cstdio>
#include <map>

#include "core/status.h"

namespace tercel::stablehlo {
namespace {

uint32_t crc32(std::span<const std::byte> bytes) {
  static const auto table = [] {
    std::array<uint32_t, 256> t;
    for (uint32_t i = 0; i < 256; ++i) {
      t[i] = i;
      for (int k = 0; k < 8; ++k) t[i] = t[i] & 1 ? 0xedb88320u ^ (t[i] >> 1) : t[i] >> 1;
    }
    return t;
  }();
  uint32_t crc = ~0u;
  for (std::byte b : bytes) crc = table[(crc ^ static_cast<uint32_t>(b)) & 255] ^ (crc >> 8);
  return ~crc;
}

std::string typeText(const ir::Type& type) {
  return type.is_token ? "token" : toString(type.shape);
}

std::string attrText(const ir::Attr& attr) {
  if (auto* list = std::get_if<ir::Ints>(&attr)) return toString(std::span<const int64_t>(*list));
  if (auto* text = std::get_if<std::string>(&attr)) return *text;
  if (auto* number = std::get_if<int64_t>(&attr)) return std::to_string(*number);
  if (auto* flag = std::get_if<bool>(&attr)) return *flag ? "1" : "0";
  auto* literal = std::get_if<ir::Literal>(&attr);
  if (literal == nullptr) return "unexpected";
  char hex[9];
  std::snprintf(hex, sizeof(hex), "%08x", crc32(literal->expanded().bytes()));
  return hex;
}

class Lister {
 public:
  explicit Lister(const ir::Module& module) : module_(module) {}

  void function(const ir::Function& f) {
    numbers_.clear();
    const ir::Region& body = module_.region(f.body);
    define(body.args);
    std::string args;
    for (size_t i = 0; i < body.args.size(); ++i) {
      const ir::ArgInfo& info = f.args[i];
      args += cat(i ? ", " : "", typeText(module_.type(body.args[i])));
      if (info.aliasing_output >= 0) args += cat(" alias=", info.aliasing_output);
      if (info.buffer_donor) args += " donor";
      if (!info.memory_kind.empty()) args += cat(" memory=", info.memory_kind);
      if (!info.layout_mode.empty()) args += cat(" layout=", info.layout_mode);
      if (!info.sharding.empty()) args += cat(" sharding=", info.sharding);
    }
    lines_.push_back(cat("func ", f.name, f.is_public ? "" : " private", " (", args, ")"));
    block(body);
  }
  std::vector<std::string> take() { return std::move(lines_); }

 private:
  template <class Values>
  void define(const Values& values) {
    for (ir::Value v : values) numbers_.emplace(v.index, numbers_.size());
  }

  std::string uses(const ir::Values& values) {
    std::string text;
    for (ir::Value v : values) {
      auto found = numbers_.find(v.index);
      text += found == numbers_.end() ? " %undefined" : cat(" %", found->second);
    }
    return text;
  }

  std::string types(const ir::Values& values) {
    std::string text;
    for (size_t i = 0; i < values.size(); ++i)
      text += cat(i ? ", " : "", typeText(module_.type(values[i])));
    return text;
  }

  void block(const ir::Region& region) {
    for (ir::OpId id : region.ops) op(module_.op(id));
    lines_.push_back("return" + uses(region.results));
  }

  void op(const ir::Op& op) {
    std::map<std::string_view, std::string> attrs;
    for (const auto& [key, attr] : op.attrs) attrs.emplace(ir::attrName(key), attrText(attr));
    std::string line = cat(ir::opName(op.kind), uses(op.operands));
    for (const auto& [name, text] : attrs) line += cat(' ', name, '=', text);
    lines_.push_back(cat(line, " : ", types(op.results)));
    define(op.results);
    for (ir::RegionId id : op.regions) {
      const ir::Region& region = module_.region(id);
      define(region.args);
      lines_.push_back(cat("region (", types(region.args), ")"));
      block(region);
    }
  }

  const ir::Module& module_;
  std::map<uint32_t, size_t> numbers_;
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> listing(const ir::Module& module) {
  Lister lister(module);
  for (const ir::Function& f : module.functions) lister.function(f);
  return lister.take();
}

// A `?` ends where the next word of the expected line, ` key=` or ` :`, begins.
bool matches(const std::string& expected, const std::string& line) {
  size_t at = 0;
  size_t from = 0;
  for (size_t mark; (mark = expected.find('?', from)) != std::string::npos; from = mark + 1) {
    std::string_view piece = std::string_view(expected).substr(from, mark - from);
    if (line.compare(at, piece.size(), piece) != 0) return false;
    at += piece.size();
    std::string_view next = std::string_view(expected).substr(mark + 1);
    next = next.substr(0, next.find_first_of("=:") + 1);
    at = next.empty() ? line.size() : line.find(next, at);
    if (at == std::string::npos) return false;
  }
  return line.substr(at) == expected.substr(from);
}

}  // namespace tercel::stablehlo
