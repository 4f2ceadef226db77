#include "tools/failure.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstring>

#include "compiler/compile.h"
#include "compiler/passes/pipeline.h"
#include "tools/execution.h"
#include "tools/program_input.h"

namespace tercel::tools {
namespace {

using Kind = Failure::Kind;

ir::Literal argumentOf(const Shape& shape, const Trial& trial, uint64_t number) {
  const uint64_t seed = static_cast<uint64_t>(trial.seed) + number;
  const ir::Literal plain = makeInput(shape, seed);
  if (!trial.special || !(isFloat(shape.dtype) || isComplex(shape.dtype)) || isSmall(shape.dtype))
    return plain;
  // None so large that the order of a product decides whether it overflows.
  constexpr double kSpecial[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1e-310, -1};
  std::vector<std::byte> bytes(plain.bytes().begin(), plain.bytes().end());
  const size_t size = byteSize(shape.dtype);
  for (size_t at = 0, i = seed; at < bytes.size(); at += 3 * size, ++i) {
    const auto one = ir::Literal::splatOf({shape.dtype, {}}, kSpecial[i % std::size(kSpecial)]);
    std::memcpy(bytes.data() + at, one.bytes().data(), size);
  }
  return ir::Literal(shape, std::move(bytes));
}

Status checkPass(const ir::Module& module, const std::string& pass, const eval::Literals& arguments,
                 const eval::Literals& wanted, bool* differs) {
  ir::Module changed = module;
  TERCEL_TRY(passes::runPass(pass, changed, {.verify = true}));
  TERCEL_ASSIGN(eval::Literals got, eval::evaluate(changed, changed.main(), arguments));
  *differs = true;
  return compare(got, wanted);
}

Status check(const ir::Module& module, const Trial& trial, bool* differs) {
  eval::Literals arguments;
  for (ir::Value v : module.region(module.main().body).args)
    arguments.push_back(argumentOf(module.shape(v), trial, arguments.size()));
  TERCEL_ASSIGN(eval::Literals wanted, eval::evaluate(module, module.main(), arguments));
  if (!trial.pass.empty()) return checkPass(module, trial.pass, arguments, wanted, differs);
  TERCEL_ASSIGN(program::Program program, compiler::compileModule(module, {.verify = true}));
  Runs runs;
  TERCEL_ASSIGN(eval::Literals got, runNative(std::move(program), arguments, runs));
  *differs = true;
  return compare(got, wanted);
}

// The child's last words: a kind and a message.
[[noreturn]] void examine(const ir::Module& module, const Trial& trial, int out) {
  bool differs = false;
  Status status;
  try {
    status = check(module, trial, &differs);
  } catch (const CheckFailure& failure) {
    status = internalError(failure.message);
  }
  const Kind kind = status.ok() ? Kind::none : differs ? Kind::difference : Kind::error;
  std::string words(1, static_cast<char>(kind));
  words += status.message();
  if (write(out, words.data(), words.size()) < 0) _exit(2);
  _exit(0);
}

std::string readAll(int from) {
  std::string text;
  char part[4096];
  for (ssize_t n; (n = read(from, part, sizeof part)) > 0;)
    text.append(part, static_cast<size_t>(n));
  return text;
}

}  // namespace

Failure failureOf(const ir::Module& module, const Trial& trial) {
  int ends[2];
  TERCEL_CHECK(pipe(ends) == 0, "no pipe");
  const pid_t child = fork();
  TERCEL_CHECK(child >= 0, "no child process");
  if (child == 0) {
    alarm(static_cast<unsigned>(trial.seconds));
    close(ends[0]);
    examine(module, trial, ends[1]);
  }
  close(ends[1]);
  const std::string words = readAll(ends[0]);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    if (signal == SIGALRM) return {Kind::hang, cat("more than ", trial.seconds, " s")};
    return {Kind::crash, cat("signal ", signal, ", ", strsignal(signal))};
  }
  if (words.empty()) return {Kind::crash, cat("exit status ", WEXITSTATUS(status))};
  return {static_cast<Kind>(words[0]), words.substr(1)};
}

}  // namespace tercel::tools
