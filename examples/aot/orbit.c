/* Runs the simulation of orbit.py, of whose library the compiler knows nothing: orbit LIBRARY */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef int create_fn(const void *options, void **instance);
typedef void destroy_fn(void *instance);
typedef const char *error_message_fn(void);
typedef int simulate_fn(void *instance, const double *dt, double *energy, double *places);

static void *find(void *library, const char *name) {
  void *symbol = dlsym(library, name);
  if (symbol) return symbol;
  fprintf(stderr, "%s\n", dlerror());
  exit(1);
}

int main(int argc, char **argv) {
  void *library = dlopen(argc > 1 ? argv[1] : "./orbit.so", RTLD_NOW);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  create_fn *create = (create_fn *)find(library, "orbit_create");
  destroy_fn *destroy = (destroy_fn *)find(library, "orbit_destroy");
  simulate_fn *simulate = (simulate_fn *)find(library, "orbit_simulate");
  error_message_fn *error_message = (error_message_fn *)find(library, "orbit_error_message");

  void *orbit;
  const double dt = 0.001;
  static double places[1000][2];
  double energy = 0;
  int code = create(NULL, &orbit);
  for (int i = 0; code == 0 && i < 20; ++i) code = simulate(orbit, &dt, &energy, places[0]);
  if (code != 0) {
    fprintf(stderr, "%s\n", error_message());
    return 1;
  }
  printf("%.6f %.6f energy %.9f\n", places[999][0], places[999][1], energy);
  destroy(orbit);
  return dlclose(library);
}
