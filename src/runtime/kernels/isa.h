// The instruction sets that some kernels are compiled for, each in a namespace of its name, of which
// the best is run that the machine has and the program that asks was compiled for.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tercel::kernels {

enum class Isa : uint8_t { baseline, avx2, avx512 };
inline constexpr const char* kIsaNames[] = {"baseline", "avx2", "avx512"};

Isa isaOfThisMachine();
// Whether its kernels are there: a saved library has those that its program's targets ask for.
bool isLinked(Isa isa);
// Of code for a CPU with these features: "+avx2,+fma,-avx512f".
Isa isaOf(std::string_view features);

// What kernels take on the calling thread while the scope is open: never more than the machine has.
class IsaScope {
 public:
  explicit IsaScope(Isa isa);
  ~IsaScope();
  IsaScope(const IsaScope&) = delete;
  IsaScope& operator=(const IsaScope&) = delete;

 private:
  Isa before_;
};
Isa chosenIsa();  // the scope's, or the machine's

constexpr int vectorBytes(Isa isa) { return 16 << static_cast<int>(isa); }

// Of what a CPU of x86-64 has.
#define TERCEL_BEST_ISA(has)                             \
  (has("avx512bw") && has("avx512dq") && has("avx512vl") \
       ? ::tercel::kernels::Isa::avx512                  \
   : has("avx2") && has("fma") ? ::tercel::kernels::Isa::avx2 : ::tercel::kernels::Isa::baseline)

#if defined(__x86_64__)
#define TERCEL_ISAS(X) X(baseline) X(avx2) X(avx512)
#define TERCEL_EACH_ISA(name) {&baseline::name, &avx2::name, &avx512::name}
#else
#define TERCEL_ISAS(X) X(baseline)
#define TERCEL_EACH_ISA(name) {&baseline::name}
#endif

// What the namespaces call `name`: the chosen one's.
#define TERCEL_CHOSEN(name) \
  ::tercel::kernels::chosen<decltype(baseline::name)>(TERCEL_EACH_ISA(name))

template <class T, size_t n>
T& chosen(T* const (&of_each)[n]) {
  return *of_each[static_cast<size_t>(chosenIsa())];
}

// Before the declaration of a kernel: where not all are linked, the others' addresses are null.
#ifdef TERCEL_SOME_ISAS
#define TERCEL_OF_ISA __attribute__((weak, visibility("hidden")))
#else
#define TERCEL_OF_ISA
#endif

}  // namespace tercel::kernels
