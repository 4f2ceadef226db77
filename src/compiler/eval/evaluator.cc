#include "compiler/eval/evaluator.h"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <utility>

#include "compiler/eval/evaluation.h"
#include "compiler/ir/small_types.h"

namespace tercel::eval {
namespace {

// Result sizes follow from the program: too large a one is its error, not ours.
template <class F>
Result<Literals> withinMemory(F&& f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return resourceExhausted("the evaluator is out of memory");
  } catch (const std::length_error&) {
    return resourceExhausted("the evaluator is out of memory");
  }
}

Status checkArgs(const ir::Module& module, const ir::Function& function, Operands args) {
  const ir::Values& params = module.region(function.body).args;
  if (params.size() != args.size())
    return invalidArgument(function.name, " takes ", params.size(), " arguments, not ",
                           args.size());
  for (size_t i = 0; i < args.size(); ++i)
    if (!(module.shape(params[i]) == args[i].shape()))
      return invalidArgument("argument ", i, " of ", function.name, " is ",
                             toString(args[i].shape()), ", not ",
                             toString(module.shape(params[i])));
  return {};
}

// Far beyond what is worth waiting for; smaller results may still not fit in memory.
constexpr int64_t kMaxResultBytes = int64_t{1} << 38;

Status checkResultSizes(const ir::Module& module, const Op& op) {
  for (ir::Value v : op.results) {
    const Shape& shape = module.shape(v);
    if (!sizeIsRepresentable(shape.dims, byteSize(shape.dtype)) || shape.bytes() > kMaxResultBytes)
      return resourceExhausted(toString(shape), " is too large to evaluate");
  }
  return {};
}

std::string placeOf(const ir::Module& module, const Op& op) {
  return cat(ir::opName(op.kind), " at ", module.location(op.loc));
}

}  // namespace

Status Evaluation::charge(int64_t elements) {
  if (options_.work_limit == 0) return {};
  bool overflow = __builtin_add_overflow(work_, elements, &work_);
  if (!overflow && work_ <= options_.work_limit) return {};
  return resourceExhausted("the evaluator's limit of ", options_.work_limit,
                           " element computations is reached");
}

const Literal* Evaluation::find(ir::Value value) const {
  auto found = values_.find(value.index);
  return found == values_.end() ? nullptr : &found->second;
}

Result<Literals> Evaluation::gather(const ir::Values& values) const {
  Literals literals;
  literals.reserve(values.size());
  for (ir::Value v : values) {
    const Literal* literal = find(v);
    if (!literal) return internalError("value ", v.index, " is used before it is computed");
    literals.push_back(*literal);
  }
  return literals;
}

void Evaluation::forget(const ir::Region& region) {
  for (ir::Value v : region.args) values_.erase(v.index);
  for (ir::OpId id : region.ops)
    for (ir::Value v : module_.op(id).results) values_.erase(v.index);
}

Result<Literals> Evaluation::runOp(const Op& op, Operands operands) {
  auto run = [&]() -> Result<Literals> {
    OpEval eval = evaluationOf(op.kind);
    if (!eval) return unimplemented("the evaluator does not know it");
    TERCEL_TRY(checkResultSizes(module_, op));
    int64_t elements = 1;
    for (ir::Value v : op.results) elements += module_.shape(v).elements();
    TERCEL_TRY(charge(elements));
    return eval(*this, op, operands);
  };
  Result<Literals> results = run();
  if (!results.ok()) return results.status().within(placeOf(module_, op));
  TERCEL_CHECK(results->size() == op.results.size(), placeOf(module_, op), " gave ",
               results->size(), " results");
  for (size_t i = 0; i < results->size(); ++i)
    TERCEL_CHECK((*results)[i].shape() == resultShape(op, i), placeOf(module_, op), " gave ",
                 toString((*results)[i].shape()), ", not ", toString(resultShape(op, i)));
  return results;
}

Result<Literals> Evaluation::runOps(const ir::Region& region) {
  for (ir::OpId id : region.ops) {
    const Op& op = module_.op(id);
    TERCEL_ASSIGN(Literals operands, gather(op.operands));
    TERCEL_ASSIGN(Literals results, runOp(op, operands));
    if (options_.observer && !quiet_) options_.observer(op, results);
    for (size_t i = 0; i < results.size(); ++i)
      values_.insert_or_assign(op.result(i).index, std::move(results[i]));
  }
  return gather(region.results);
}

Result<Literals> Evaluation::runRegion(ir::RegionId id, Operands args) {
  const ir::Region& region = module_.region(id);
  if (depth_ >= options_.max_depth)
    return resourceExhausted("regions and calls nest deeper than ", options_.max_depth);
  TERCEL_CHECK(args.size() == region.args.size(), "a region of ", region.args.size(),
               " arguments is given ", args.size());
  for (size_t i = 0; i < args.size(); ++i) values_.insert_or_assign(region.args[i].index, args[i]);
  ++depth_;
  Result<Literals> results = runOps(region);
  --depth_;
  forget(region);
  return results;
}

Result<Literals> Evaluation::runQuietly(ir::RegionId region, Operands args) {
  bool outer = std::exchange(quiet_, true);
  Result<Literals> results = runRegion(region, args);
  quiet_ = outer;
  return results;
}

// Values are kept by id, so a function cannot be active twice.
Result<Literals> Evaluation::call(std::string_view function, Operands args) {
  const ir::Function* callee = module_.find(function);
  if (!callee) return invalidArgument("there is no function @", function);
  if (std::ranges::find(calls_, function) != calls_.end())
    return invalidArgument("@", function, " calls itself");
  TERCEL_TRY(checkArgs(module_, *callee, args));
  calls_.push_back(function);
  Result<Literals> results = runRegion(callee->body, args);
  calls_.pop_back();
  return results;
}

Result<Literals> evaluate(const ir::Module& module, const ir::Function& function, Operands args,
                          const EvalOptions& options) {
  return withinMemory([&]() -> Result<Literals> {
    TERCEL_TRY(checkArgs(module, function, args));
    if (!ir::usesSmallTypes(module))
      return Evaluation(module, options).runRegion(function.body, args);
    ir::Module lowered = module;
    ir::lowerSmallTypes(lowered);
    return Evaluation(lowered, options).runRegion(function.body, args);
  });
}

Result<Literals> evaluateOp(const ir::Module& module, const Op& op, Operands operands,
                            const EvalOptions& options) {
  return withinMemory([&] { return Evaluation(module, options).runOp(op, operands); });
}

bool canEvaluate(OpKind kind) { return evaluationOf(kind) != nullptr; }

}  // namespace tercel::eval
