// Under a sanitizer an allocation that is too large must fail as it does without: tests of memory
// running out ask for such ones.
extern "C" {
__attribute__((visibility("default"))) const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}
__attribute__((visibility("default"))) const char* __tsan_default_options() {
  return "allocator_may_return_null=1";
}
}
