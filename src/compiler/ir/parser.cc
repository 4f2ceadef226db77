#include <unordered_map>
#include <unordered_set>

#include "compiler/ir/parse_attr.h"
#include "compiler/ir/syntax.h"
#include "compiler/ir/text.h"

namespace tercel::ir {
namespace {

// Regions nest by recursion; deeper texts are refused so that none can exhaust the stack.
constexpr int kMaxDepth = 200;

class Parser {
 public:
  explicit Parser(std::string_view text) : in_(text) {}

  Result<Module> run() {
    TERCEL_TRY(in_.expectWord("module"));
    TERCEL_ASSIGN(module_.name, parseSymbolName());
    TERCEL_TRY(in_.expect("{"));
    if (!atModuleBody()) TERCEL_TRY(parseModuleInfo());
    while (!in_.accept("}")) TERCEL_TRY(parseFunction());
    if (!in_.atEnd()) return in_.errorHere("expected the end of the text");
    return std::move(module_);
  }

 private:
  bool atModuleBody() {
    if (in_.peek() == '}') return true;
    Scanner ahead = in_;
    return ahead.acceptWord("func");
  }

  Result<std::string> parseSymbolName() {
    TERCEL_TRY(in_.expect("@"));
    return in_.wordOrQuoted();
  }

  // The rest of `{key = value} {` after its first brace.
  Status parseModuleInfo() {
    do {
      TERCEL_ASSIGN(std::string_view key, in_.word());
      if (key != "num_partitions" && key != "num_replicas")
        return in_.errorAtLast("unknown module attribute '", key, "'");
      TERCEL_TRY(in_.expect("="));
      TERCEL_ASSIGN(int64_t count, in_.integer());
      (key == "num_partitions" ? module_.num_partitions : module_.num_replicas) = count;
    } while (in_.accept(","));
    TERCEL_TRY(in_.expect("}"));
    return in_.expect("{");
  }

  Status parseFunction() {
    TERCEL_TRY(in_.expectWord("func"));
    Function f;
    f.is_public = !in_.acceptWord("private");
    TERCEL_ASSIGN(f.name, parseSymbolName());
    if (!functions_.insert(f.name).second) return in_.errorAtLast("a second function @", f.name);
    f.body = module_.addRegion();
    size_t scope = names_in_order_.size();
    TERCEL_TRY(in_.expect("("));
    TERCEL_TRY(parseArgs(f.body, &f.args));
    TERCEL_TRY(in_.expect("->"));
    TERCEL_ASSIGN(std::vector<Type> types, parseResultTypes(&f.results));
    TERCEL_TRY(parseBody(f.body, scope));
    const Values& results = module_.region(f.body).results;
    if (results.size() != types.size())
      return in_.errorAtLast("@", f.name, " returns ", results.size(), " values, not ",
                             types.size());
    for (size_t i = 0; i < types.size(); ++i)
      if (module_.type(results[i]) != types[i])
        return in_.errorAtLast("@", f.name, " returns another type as result ", i);
    module_.functions.push_back(std::move(f));
    return {};
  }

  // `%a: f32[], ...)`; `infos` is null for the arguments of an op's region.
  Status parseArgs(RegionId region, std::vector<ArgInfo>* infos) {
    if (in_.accept(")")) return {};
    do {
      TERCEL_ASSIGN(std::string_view name, in_.valueName());
      TERCEL_TRY(checkNew(name));
      TERCEL_TRY(in_.expect(":"));
      TERCEL_ASSIGN(Type type, parseType(in_));
      define(name, module_.addArg(region, std::move(type)));
      if (!infos) continue;
      ArgInfo& info = infos->emplace_back();
      if (in_.peek() == '{')
        TERCEL_TRY(
            parseDictionary(in_, [&](std::string_view key) { return parseArgInfo(key, info); }));
    } while (in_.accept(","));
    return in_.expect(")");
  }

  Status parseArgInfo(std::string_view key, ArgInfo& info) {
    if (key == "aliasing_output") {
      TERCEL_ASSIGN(info.aliasing_output, in_.integer());
      if (info.aliasing_output < 0) return in_.errorAtLast("aliasing_output is negative");
      return {};
    }
    if (key == "buffer_donor") {
      info.buffer_donor = in_.acceptWord("true");
      return info.buffer_donor ? Status() : in_.expectWord("false");
    }
    return parsePlacement(key, info);
  }

  // What arguments and results have in common.
  template <class Info>
  Status parsePlacement(std::string_view key, Info& info) {
    if (key == "layout") {
      TERCEL_ASSIGN(Attr layout, parseAttr(in_, AttrKind::integers));
      info.layout = std::get<Ints>(std::move(layout));
      return {};
    }
    std::string* field = key == "memory_kind"   ? &info.memory_kind
                         : key == "layout_mode" ? &info.layout_mode
                         : key == "sharding"    ? &info.sharding
                                                : nullptr;
    if (!field) return in_.errorAtLast("unknown attribute '", key, "'");
    TERCEL_ASSIGN(*field, in_.quoted());
    return {};
  }

  Result<std::vector<Type>> parseResultTypes(std::vector<ResultInfo>* infos) {
    std::vector<Type> types;
    TERCEL_TRY(in_.expect("("));
    if (in_.accept(")")) return types;
    do {
      TERCEL_ASSIGN(Type type, parseType(in_));
      types.push_back(std::move(type));
      ResultInfo& info = infos->emplace_back();
      if (in_.peek() == '{')
        TERCEL_TRY(
            parseDictionary(in_, [&](std::string_view key) { return parsePlacement(key, info); }));
    } while (in_.accept(","));
    TERCEL_TRY(in_.expect(")"));
    return types;
  }

  // `{ ops return %a, %b }`; names defined since `scope` go out of it at the end.
  Status parseBody(RegionId id, size_t scope) {
    if (++depth_ > kMaxDepth) return in_.errorHere("regions nest deeper than ", kMaxDepth);
    TERCEL_TRY(in_.expect("{"));
    while (!in_.acceptWord("return")) TERCEL_TRY(parseOp(id));
    if (in_.peek() == '%') {
      do {
        TERCEL_ASSIGN(Value v, parseUse());
        module_.region(id).results.push_back(v);
      } while (in_.accept(","));
    }
    for (; names_in_order_.size() > scope; names_in_order_.pop_back())
      names_.erase(names_in_order_.back());
    --depth_;
    return in_.expect("}");
  }

  Status parseOp(RegionId region) {
    TERCEL_ASSIGN(std::vector<std::string_view> names, parseResultNames());
    TERCEL_ASSIGN(std::string_view name, in_.word());
    Op op;
    if (!opKindFromName(name, &op.kind)) return in_.errorAtLast("unknown op '", name, "'");
    TERCEL_TRY(parseOperands(op));
    if (in_.peek() == '{') TERCEL_TRY(parseAttrs(op));
    while (in_.acceptWord(regionKeyword(op.kind, op.regions.size()))) {
      RegionId inner = module_.addRegion();
      size_t scope = names_in_order_.size();
      TERCEL_TRY(in_.expect("("));
      TERCEL_TRY(parseArgs(inner, nullptr));
      TERCEL_TRY(parseBody(inner, scope));
      op.regions.push_back(inner);
    }
    TERCEL_ASSIGN(std::vector<Type> types, parseOpTypes());
    if (types.size() != names.size())
      return in_.errorAtLast(name, " has ", names.size(), " results and ", types.size(), " types");
    if (in_.acceptWord("loc")) {
      TERCEL_ASSIGN(op.loc, parseLocation());
    }
    return addOp(region, std::move(op), types, names);
  }

  Result<std::vector<std::string_view>> parseResultNames() {
    std::vector<std::string_view> names;
    if (in_.peek() != '%') return names;
    do {
      TERCEL_ASSIGN(std::string_view name, in_.valueName());
      names.push_back(name);
    } while (in_.accept(","));
    TERCEL_TRY(in_.expect("="));
    return names;
  }

  Status parseOperands(Op& op) {
    TERCEL_TRY(in_.expect("("));
    if (in_.accept(")")) return {};
    do {
      TERCEL_ASSIGN(Value v, parseUse());
      op.operands.push_back(v);
    } while (in_.accept(","));
    return in_.expect(")");
  }

  Status parseAttrs(Op& op) {
    return parseDictionary(in_, [&](std::string_view name) -> Status {
      AttrKey key;
      if (!attrKeyFromName(name, &key)) return in_.errorHere("unknown attribute '", name, "'");
      if (op.has(key)) return in_.errorHere("a second ", name);
      TERCEL_ASSIGN(Attr attr, parseAttr(in_, attrKind(key)));
      op.attrs.emplace_back(key, std::move(attr));
      return {};
    });
  }

  Result<std::vector<Type>> parseOpTypes() {
    std::vector<Type> types;
    if (!in_.accept(":")) return types;
    do {
      TERCEL_ASSIGN(Type type, parseType(in_));
      types.push_back(std::move(type));
    } while (in_.accept(","));
    return types;
  }

  Result<LocId> parseLocation() {
    TERCEL_TRY(in_.expect("("));
    TERCEL_ASSIGN(std::string text, in_.quoted());
    TERCEL_TRY(in_.expect(")"));
    auto found = locations_.find(text);
    if (found == locations_.end())
      found = locations_.emplace(text, module_.addLocation(text)).first;
    return found->second;
  }

  Status addOp(RegionId region, Op parsed, std::span<const Type> types,
               std::span<const std::string_view> names) {
    OpId id = module_.addOp(parsed.kind, std::move(parsed.operands), types);
    Op& op = module_.op(id);
    op.loc = parsed.loc;
    op.regions = parsed.regions;
    op.attrs = std::move(parsed.attrs);
    module_.region(region).ops.push_back(id);
    for (size_t i = 0; i < names.size(); ++i) {
      TERCEL_TRY(checkNew(names[i]));
      define(names[i], op.results[i]);
    }
    return {};
  }

  Result<Value> parseUse() {
    TERCEL_ASSIGN(std::string_view name, in_.valueName());
    auto found = names_.find(name);
    if (found == names_.end()) return in_.errorAtLast("%", name, " is not defined");
    return found->second;
  }

  Status checkNew(std::string_view name) {
    if (names_.contains(name)) return in_.errorAtLast("%", name, " is defined twice");
    return {};
  }
  void define(std::string_view name, Value v) {
    names_.emplace(name, v);
    names_in_order_.push_back(name);
  }

  Scanner in_;
  Module module_;
  int depth_ = 0;
  // The visible names; keys point into the text.
  std::unordered_map<std::string_view, Value> names_;
  std::vector<std::string_view> names_in_order_;
  std::unordered_map<std::string, LocId> locations_;
  std::unordered_set<std::string> functions_;
};

}  // namespace

Result<Module> parse(std::string_view text) { return Parser(text).run(); }

}  // namespace tercel::ir
