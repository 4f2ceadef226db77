/* What crtbeginS.o would do for a shared library: tercel.aot links without the system's start files.
 * Objects of static storage are destroyed when the library is unloaded. */
__attribute__((visibility("hidden"))) void* __dso_handle = &__dso_handle;

extern void __cxa_finalize(void* dso);
/* libstdc++'s: the memory that it keeps for exceptions when there is no other, 72 KB. */
extern void _ZN9__gnu_cxx9__freeresEv(void);

__attribute__((destructor)) static void destroyStatics(void) {
  __cxa_finalize(&__dso_handle);
  _ZN9__gnu_cxx9__freeresEv();
}

/* In place of libstdc++'s std::terminate handler, which prints the exception's name and brings a
 * demangler along. */
extern void abort(void);
__attribute__((visibility("hidden"))) void _ZN9__gnu_cxx27__verbose_terminate_handlerEv(void);
void _ZN9__gnu_cxx27__verbose_terminate_handlerEv(void) { abort(); }
