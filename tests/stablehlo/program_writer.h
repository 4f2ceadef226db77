// A module with one function `main`, written op by op.
#pragma once
#include "stablehlo/artifact_writer.h"

namespace tercel::stablehlo {

class ProgramWriter {
 public:
  ProgramWriter() {
    unknown_loc_ = w.attr(kBuiltin, varint(15));
    location = function_location = unknown_loc_;
    f32 = w.type(kVhlo, varint(4));
    s64 = w.type(kVhlo, varint(14));
    f32x2 = tensor(f32, {2});
    module_ = w.op(kBuiltin, "module");
    func_ = w.op(kVhlo, "func_v1");
    return_ = w.op(kVhlo, "return_v1");
  }

  uint32_t tensor(uint32_t element, std::vector<int64_t> dims) {
    std::string bytes = varints({20, dims.size()});
    for (int64_t d : dims) bytes += svarint(d);
    return w.type(kVhlo, bytes + varint(element));
  }
  uint32_t tensorAttr(uint32_t type, std::string_view blob) {
    return w.attr(kVhlo, varints({15, type, blob.size()}) + std::string(blob));
  }
  uint32_t intsAttr(const std::vector<int64_t>& values) {
    std::string blob(reinterpret_cast<const char*>(values.data()), 8 * values.size());
    return tensorAttr(tensor(s64, {static_cast<int64_t>(values.size())}), blob);
  }

  // An op of main; its operands and results are numbered from main's arguments on.
  void add(std::string_view name, std::vector<uint32_t> operands, std::vector<uint32_t> results,
           std::initializer_list<uint64_t> attrs = {}, const std::string& regions = "",
           TestDialect dialect = kVhlo) {
    addOp(w.op(dialect, name), operands, results, attrs, regions);
    values_ += results.size();
  }
  void ret(std::vector<uint32_t> operands) { addOp(return_, operands, {}, {}, ""); }

  // main(f32[2]) -> results.
  std::string finish(const std::vector<uint32_t>& result_types, uint64_t version = 6) {
    std::string function = varints({8, 1, f32x2, result_types.size()});
    for (uint32_t t : result_types) function += varint(t);
    uint32_t type = w.attr(kVhlo, varints({17, w.type(kVhlo, function)}));
    uint32_t none = w.attr(kVhlo, varints({1, 0}));
    uint32_t name = w.text("main"), visibility = w.text("public");
    uint32_t properties = w.properties({none, type, none, name, visibility});
    std::string body = varints({1, 1 + values_, 2 * count_ + 1, 1, 2 * f32x2}) + '\0' + ops_;
    std::string func = varint(func_) + char(0x50) + varints({function_location, properties, 2}) + body;
    std::string module = varints({1, 0, 2}) + func;
    uint32_t no_name = w.properties({0, 0});
    std::string top = varint(2) + varint(module_) + char(0x50) +
                      varints({unknown_loc_, no_name, 3}) + ArtifactWriter::section(4, module);
    return w.finish(top, version);
  }

  ArtifactWriter w;
  uint32_t f32, s64, f32x2;
  uint32_t location, function_location;

 private:
  void addOp(uint32_t op, const std::vector<uint32_t>& operands,
             const std::vector<uint32_t>& results, std::initializer_list<uint64_t> attrs,
             const std::string& regions) {
    int mask = (attrs.size() ? 64 : 0) | (results.empty() ? 0 : 2) | (operands.empty() ? 0 : 4) |
               (regions.empty() ? 0 : 16);
    ops_ += varint(op) + static_cast<char>(mask) + varint(location);
    if (attrs.size()) ops_ += varint(w.properties(attrs));
    if (!results.empty()) ops_ += varint(results.size());
    for (uint32_t r : results) ops_ += varint(r);
    if (!operands.empty()) ops_ += varint(operands.size());
    for (uint32_t o : operands) ops_ += varint(o);
    ops_ += regions;
    ++count_;
  }

  uint32_t unknown_loc_, module_, func_, return_;
  std::string ops_;
  uint64_t count_ = 0;
  uint64_t values_ = 0;
};

}  // namespace tercel::stablehlo
