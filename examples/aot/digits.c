/* Trains the network of digits.py and counts what it recognises: digits FOLDER */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digits.h"

enum { PIXELS = 64, BATCH = 64, TESTS = 360, EPOCHS = 2 };

static void check(int code) {
  if (code == TERCEL_OK) return;
  fprintf(stderr, "%s\n", digits_error_message());
  exit(1);
}

static void *read_file(const char *folder, const char *name, size_t *size) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.bin", folder, name);
  FILE *file = fopen(path, "rb");
  if (!file) {
    perror(path);
    exit(1);
  }
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  void *data = malloc(*size);
  if (!data || fread(data, 1, *size, file) != *size) exit(1);
  fclose(file);
  return data;
}

int main(int argc, char **argv) {
  const char *folder = argc > 1 ? argv[1] : ".";
  size_t size, test_size;
  float *images = read_file(folder, "images", &size);
  int32_t *labels = read_file(folder, "labels", &size);
  float *test_images = read_file(folder, "test_images", &test_size);
  int32_t *test_labels = read_file(folder, "test_labels", &test_size);
  const size_t count = size / sizeof(int32_t);
  if (test_size != TESTS * sizeof(int32_t)) return 1;

  digits *network;
  check(digits_create(NULL, &network));
  const uint32_t key[2] = {0, 42};
  check(digits_initialize(network, key));
  for (int epoch = 1; epoch <= EPOCHS; ++epoch) {
    float loss = 0;
    for (size_t i = 0; i + BATCH <= count; i += BATCH) {
      check(digits_update(network, images + i * PIXELS, labels + i, &loss));
    }
    printf("epoch %d: loss %.4f\n", epoch, loss);
  }

  int32_t classes[TESTS];
  check(digits_predict_batch360(network, test_images, classes));
  int right = 0;
  for (int i = 0; i < TESTS; ++i) right += classes[i] == test_labels[i];
  printf("%d of %d\n", right, TESTS);

  digits_destroy(network);
  free(images);
  free(labels);
  free(test_images);
  free(test_labels);
  return 0;
}
