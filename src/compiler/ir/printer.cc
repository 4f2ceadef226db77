#include <charconv>

#include "compiler/ir/element_text.h"
#include "compiler/ir/syntax.h"
#include "compiler/ir/text.h"

namespace tercel::ir {
namespace {

constexpr uint32_t kUnnumbered = 0xffffffffu;
constexpr int64_t kMaxElementsInMessages = 8;

void appendInt(std::string& out, int64_t value) { appendElement(out, value); }

void appendInts(std::string& out, std::span<const int64_t> list, std::string_view separator) {
  out += '[';
  for (size_t i = 0; i < list.size(); ++i) {
    if (i) out += separator;
    appendInt(out, list[i]);
  }
  out += ']';
}

void appendType(std::string& out, const Type& type) {
  if (type.is_token) {
    out += "token";
  } else {
    out += dtypeName(type.shape.dtype);
    appendInts(out, type.shape.dims, ",");
  }
}

void appendElementAt(std::string& out, const Literal& literal, int64_t i) {
  visitDType(literal.shape().dtype, [&]<class T>() {
    if constexpr (requires(T v) { v.imag(); }) {
      T value = literal.at<T>(i);
      out += '(';
      appendElement(out, value.real());
      out += ", ";
      appendElement(out, value.imag());
      out += ')';
    } else {
      appendElement(out, literal.at<T>(i));
    }
  });
}

void appendLiteral(std::string& out, const Literal& literal, int64_t shown) {
  int64_t count = literal.shape().elements();
  appendType(out, Type{literal.shape()});
  if (literal.isSplat() && count > 1) {
    out += " splat(";
    appendElementAt(out, literal, 0);
    out += ')';
  } else if (count > shown) {
    out += " ...";
  } else if (count > kMaxPrintedElements) {
    out += " hex(\"";
    appendHex(out, literal.bytes());
    out += "\")";
  } else {
    out += " (";
    for (int64_t i = 0; i < count; ++i) {
      if (i) out += ", ";
      appendElementAt(out, literal, i);
    }
    out += ')';
  }
}

void appendStrings(std::string& out, const std::vector<std::string>& list) {
  out += '[';
  for (size_t i = 0; i < list.size(); ++i) {
    if (i) out += ", ";
    appendQuoted(out, list[i]);
  }
  out += ']';
}

void appendAttr(std::string& out, const Attr& attr, int64_t shown) {
  std::visit(
      [&]<class A>(const A& value) {
        if constexpr (std::is_same_v<A, std::string>)
          appendWordOrQuoted(out, value);
        else if constexpr (std::is_same_v<A, Ints>)
          appendInts(out, value, ", ");
        else if constexpr (std::is_same_v<A, Literal>)
          appendLiteral(out, value, shown);
        else if constexpr (std::is_same_v<A, std::vector<std::string>>)
          appendStrings(out, value);
        else
          appendElement(out, value);
      },
      attr);
}

// {key = value, ...}; nothing at all where no pair was added.
class Dictionary {
 public:
  explicit Dictionary(std::string& out) : out_(out) {}
  std::string& key(std::string_view name) {
    out_ += is_open_ ? ", " : " {";
    is_open_ = true;
    out_ += name;
    out_ += " = ";
    return out_;
  }
  void quoted(std::string_view name, std::string_view value) {
    if (!value.empty()) appendQuoted(key(name), value);
  }
  void close() {
    if (is_open_) out_ += '}';
  }

 private:
  std::string& out_;
  bool is_open_ = false;
};

void appendAttrs(std::string& out, const Op& op, int64_t shown) {
  Dictionary dictionary(out);
  for (const auto& [key, attr] : op.attrs) appendAttr(dictionary.key(attrName(key)), attr, shown);
  dictionary.close();
}

class Printer {
 public:
  Printer(const Module& module, bool with_locations)
      : module_(module),
        with_locations_(with_locations),
        numbers_(module.valueCount(), kUnnumbered) {}

  std::string run() {
    out_ = "module @";
    appendWordOrQuoted(out_, module_.name);
    Dictionary dictionary(out_);
    if (module_.num_partitions != 1)
      appendInt(dictionary.key("num_partitions"), module_.num_partitions);
    if (module_.num_replicas != 1) appendInt(dictionary.key("num_replicas"), module_.num_replicas);
    dictionary.close();
    out_ += " {\n";
    for (const Function& f : module_.functions) printFunction(f);
    out_ += "}\n";
    return std::move(out_);
  }

 private:
  void define(Value v) {
    if (v.index < numbers_.size()) numbers_[v.index] = next_++;
    use(v);
  }
  // A broken module is printed too; a value used before its definition reads %undefined<id>.
  void use(Value v) {
    bool is_numbered = v.index < numbers_.size() && numbers_[v.index] != kUnnumbered;
    out_ += is_numbered ? "%" : "%undefined";
    appendInt(out_, is_numbered ? numbers_[v.index] : v.index);
  }
  void useAll(const Values& values) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (i) out_ += ", ";
      use(values[i]);
    }
  }
  void typeOf(Value v) {
    if (v.index < numbers_.size())
      appendType(out_, module_.type(v));
    else
      out_ += "none";
  }
  void indent(int depth) { out_.append(static_cast<size_t>(depth) * 2, ' '); }

  void printFunction(const Function& f) {
    next_ = 0;
    out_ += f.is_public ? "  func @" : "  func private @";
    appendWordOrQuoted(out_, f.name);
    const Region& body = module_.region(f.body);
    out_ += '(';
    for (size_t i = 0; i < body.args.size(); ++i) {
      printArg(body.args[i], i);
      if (i < f.args.size()) printArgInfo(f.args[i]);
    }
    out_ += ") -> (";
    for (size_t i = 0; i < body.results.size(); ++i) {
      if (i) out_ += ", ";
      typeOf(body.results[i]);
      if (i < f.results.size()) printResultInfo(f.results[i]);
    }
    out_ += ") ";
    printBody(body, 2);
    out_ += '\n';
  }

  void printArg(Value v, size_t i) {
    if (i) out_ += ", ";
    define(v);
    out_ += ": ";
    typeOf(v);
  }

  template <class Info>
  void printPlacement(const Info& info, Dictionary& dictionary) {
    dictionary.quoted("memory_kind", info.memory_kind);
    dictionary.quoted("layout_mode", info.layout_mode);
    if (!info.layout.empty()) appendInts(dictionary.key("layout"), info.layout, ", ");
    dictionary.quoted("sharding", info.sharding);
  }

  void printArgInfo(const ArgInfo& info) {
    Dictionary dictionary(out_);
    if (info.aliasing_output >= 0)
      appendInt(dictionary.key("aliasing_output"), info.aliasing_output);
    if (info.buffer_donor) dictionary.key("buffer_donor") += "true";
    printPlacement(info, dictionary);
    dictionary.close();
  }

  void printResultInfo(const ResultInfo& info) {
    Dictionary dictionary(out_);
    printPlacement(info, dictionary);
    dictionary.close();
  }

  void printRegion(std::string_view keyword, const Region& region, int depth) {
    out_ += ' ';
    out_ += keyword;
    out_ += '(';
    for (size_t i = 0; i < region.args.size(); ++i) printArg(region.args[i], i);
    out_ += ") ";
    printBody(region, depth);
  }

  void printBody(const Region& region, int depth) {
    out_ += "{\n";
    for (OpId id : region.ops) printOp(module_.op(id), depth);
    indent(depth);
    out_ += region.results.empty() ? "return" : "return ";
    useAll(region.results);
    out_ += '\n';
    indent(depth - 1);
    out_ += '}';
  }

  void printOp(const Op& op, int depth) {
    indent(depth);
    for (size_t i = 0; i < op.results.size(); ++i) {
      if (i) out_ += ", ";
      define(op.results[i]);
    }
    if (!op.results.empty()) out_ += " = ";
    out_ += opName(op.kind);
    out_ += '(';
    useAll(op.operands);
    out_ += ')';
    appendAttrs(out_, op, INT64_MAX);
    for (size_t i = 0; i < op.regions.size(); ++i)
      printRegion(regionKeyword(op.kind, i), module_.region(op.regions[i]), depth + 1);
    for (size_t i = 0; i < op.results.size(); ++i) {
      out_ += i ? ", " : " : ";
      typeOf(op.results[i]);
    }
    if (with_locations_ && op.loc.valid()) {
      out_ += "  loc(";
      appendQuoted(out_, module_.location(op.loc));
      out_ += ')';
    }
    out_ += '\n';
  }

  const Module& module_;
  bool with_locations_;
  std::vector<uint32_t> numbers_;
  uint32_t next_ = 0;
  std::string out_;
};

}  // namespace

std::string print(const Module& module, bool with_locations) {
  return Printer(module, with_locations).run();
}

// Values go by their ids here: their printed numbers depend on the rest of the module.
std::string printOp(const Module& module, OpId id) {
  const Op& op = module.op(id);
  std::string out;
  auto list = [&](const Values& values, std::string_view prefix, bool with_types) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (i) out += ", ";
      out += prefix;
      appendInt(out, values[i].index);
      if (!with_types || values[i].index >= module.valueCount()) continue;
      out += ": ";
      appendType(out, module.type(values[i]));
    }
  };
  list(op.results, "%", false);
  if (!op.results.empty()) out += " = ";
  out += opName(op.kind);
  out += '(';
  list(op.operands, "%", true);
  out += ')';
  appendAttrs(out, op, kMaxElementsInMessages);
  for (size_t i = 0; i < op.regions.size(); ++i)
    out += cat(' ', regionKeyword(op.kind, i), "(...)");
  for (size_t i = 0; i < op.results.size(); ++i) {
    out += i ? ", " : " : ";
    appendType(out, module.type(op.results[i]));
  }
  return out;
}

}  // namespace tercel::ir
