// What the parser of kernels reads besides instructions: the header, buffers, types, numbers, names.
#pragma once
#include <bit>
#include <charconv>
#include <string>
#include <unordered_map>

#include "compiler/ir/scanner.h"
#include "compiler/kernel/kernel.h"

namespace tercel::kernel {

inline constexpr int64_t kMaxLanes = 1024;
inline constexpr InstId kNoInst = 0xffffffffu;

template <class T>
Result<T> findNamed(std::string_view name, int count, std::string_view (*nameOf)(T)) {
  for (int i = 0; i < count; ++i)
    if (nameOf(static_cast<T>(i)) == name) return static_cast<T>(i);
  return invalidArgument("'", name, "' is unknown");
}

inline constexpr int kScalars = static_cast<int>(Scalar::f64) + 1;

class TextReader {
 protected:
  explicit TextReader(std::string_view text) : scan_(text) {}

  // `params = 3, tasks = 64} {`, if it is there: no instruction is called like that.
  Status header() {
    bool any = false;
    for (;; any = true) {
      int64_t* value = nullptr;
      int64_t params = 0;
      bool is_params = scan_.acceptWord("params"), is_cost = scan_.acceptWord("cost");
      if (is_params) value = &params;
      else if (scan_.acceptWord("scratch")) value = &kernel_.scratch_bytes;
      else if (scan_.acceptWord("tasks")) value = &kernel_.tasks;
      else if (!is_cost) break;
      TERCEL_TRY(scan_.expect("="));
      if (is_cost) {
        TERCEL_ASSIGN(kernel_.cost, number<double>(scan_.element()));
      }
      if (value) TERCEL_TRY(integerInto(*value));
      if (is_params) kernel_.params = static_cast<int32_t>(params);
      scan_.accept(",");
    }
    if (!any) return {};
    TERCEL_TRY(scan_.expect("}"));
    return scan_.expect("{");
  }

  Status buffer() {
    TERCEL_TRY(scan_.expect("#"));
    TERCEL_ASSIGN(int64_t id, scan_.integer());
    if (id != static_cast<int64_t>(kernel_.buffers.size()))
      return scan_.errorAtLast("buffers are numbered from 0 up");
    TERCEL_TRY(scan_.expect("="));
    Buffer b;
    TERCEL_ASSIGN(b.element, scalar());
    if (scan_.acceptWord("param")) {
      TERCEL_ASSIGN(int64_t param, scan_.integer());
      b.param = static_cast<int32_t>(param);
    } else {
      TERCEL_TRY(scan_.expectWord("scratch"));
      TERCEL_ASSIGN(b.scratch_offset, scan_.integer());
      if (scan_.acceptWord("of")) TERCEL_TRY(integerInto(b.elements));
    }
    b.read_only = scan_.acceptWord("read_only");
    if (scan_.acceptWord("align")) TERCEL_TRY(integerInto(b.align));
    if (scan_.acceptWord("alias")) {
      TERCEL_ASSIGN(BufferId alias, bufferName());
      b.alias_of = static_cast<int32_t>(alias);
    }
    kernel_.buffers.push_back(b);
    return {};
  }

  Result<FunctionId> findFunction(std::string_view name) {
    for (size_t i = 0; i < kernel_.functions.size(); ++i)
      if (kernel_.functions[i].name == name) return static_cast<FunctionId>(i);
    return scan_.errorAtLast("there is no function @", name);
  }

  Status integerInto(int64_t& value) {
    TERCEL_ASSIGN(value, scan_.integer());
    return {};
  }

  Result<BufferId> bufferName() {
    TERCEL_TRY(scan_.expect("#"));
    TERCEL_ASSIGN(int64_t id, scan_.integer());
    if (id < 0 || id >= static_cast<int64_t>(kernel_.buffers.size()))
      return scan_.errorAtLast("there is no buffer #", id);
    return static_cast<BufferId>(id);
  }

  Result<Scalar> scalar() {
    TERCEL_ASSIGN(Type t, type());
    if (t.isVector()) return scan_.errorAtLast("expected a scalar type");
    return t.scalar;
  }

  Result<Type> type() {
    TERCEL_ASSIGN(std::string_view text, scan_.word());
    size_t times = text.find('x');
    auto found = findNamed<Scalar>(text.substr(0, times), kScalars, scalarName);
    if (!found.ok()) return scan_.errorAtLast("there is no type ", text);
    int64_t lanes = 1;
    if (times != text.npos) {
      auto parsed = number<int64_t>(text.substr(times + 1));
      if (!parsed.ok() || *parsed < 2 || *parsed > kMaxLanes)
        return scan_.errorAtLast("there is no type ", text);
      lanes = *parsed;
    }
    return Type{*found, static_cast<uint16_t>(lanes)};
  }

  template <class Number>
  Result<Number> number(std::string_view text) {
    Number value{};
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
      return scan_.errorAtLast("'", text, "' is no number");
    return value;
  }

  Result<V> use() {
    TERCEL_ASSIGN(std::string_view name, scan_.valueName());
    auto found = names_.find(std::string(name));
    if (found == names_.end()) return scan_.errorAtLast("there is no value %", name);
    return found->second;
  }

  Status define(std::string_view name, V v) {
    if (!names_.emplace(name, v).second) return scan_.errorAtLast("%", name, " is defined twice");
    return {};
  }

  V newValue(Type t, BlockId block, InstId def) {
    kernel_.values.push_back({t, block, def});
    return {static_cast<uint32_t>(kernel_.values.size() - 1)};
  }

  Status argument(BlockId block, Type t) {
    TERCEL_ASSIGN(std::string_view name, scan_.valueName());
    return argument(name, block, t);
  }

  Status argument(std::string_view name, BlockId block, Type t) {
    V v = newValue(t, block, kNoInst);
    kernel_.blocks[block].args.push_back(v);
    return define(name, v);
  }

  BlockId newBlock(BlockId parent, bool guarded) {
    Block block{.parent = parent, .depth = kernel_.blocks[parent].depth + 1, .guarded = guarded};
    kernel_.blocks.push_back(std::move(block));
    return static_cast<BlockId>(kernel_.blocks.size() - 1);
  }

  // The bits of a constant, read before its type.
  Result<int64_t> readConstant(std::string_view text, Scalar s) {
    int width = bitWidth(s);
    uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
    uint64_t bits = 0;
    if (text.starts_with("0x")) {
      std::string_view digits = text.substr(2);
      auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16);
      if (error != std::errc() || end != digits.data() + digits.size() || (bits & ~mask))
        return scan_.errorAtLast("'", text, "' is no constant of its type");
    } else if (s == Scalar::f64) {
      TERCEL_ASSIGN(double value, number<double>(text));
      bits = std::bit_cast<uint64_t>(value);
    } else if (isFloat(s)) {
      TERCEL_ASSIGN(float value, number<float>(text));
      bits = s == Scalar::f16    ? floatToHalf(value)
             : s == Scalar::bf16 ? floatToBFloat16(value)
                                 : std::bit_cast<uint32_t>(value);
    } else {
      TERCEL_ASSIGN(int64_t value, number<int64_t>(text));
      bits = static_cast<uint64_t>(value) & mask;
    }
    return static_cast<int64_t>(bits);
  }

  ir::Scanner scan_;
  Kernel kernel_;
  std::unordered_map<std::string, V> names_;
};

}  // namespace tercel::kernel
