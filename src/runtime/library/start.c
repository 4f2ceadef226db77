/* What crtbeginS.o would do for a shared library: tercel.aot links without the system's start files.
 * Objects of static storage are destroyed when the library is unloaded. */
__attribute__((visibility("hidden"))) void* __dso_handle = &__dso_handle;

extern void __cxa_finalize(void* dso);

__attribute__((destructor)) static void destroyStatics(void) { __cxa_finalize(&__dso_handle); }

/* In place of libstdc++'s std::terminate handler, which prints the exception's name and brings a
 * demangler along. */
extern void abort(void);
__attribute__((visibility("hidden"))) void _ZN9__gnu_cxx27__verbose_terminate_handlerEv(void);
void _ZN9__gnu_cxx27__verbose_terminate_handlerEv(void) { abort(); }
