// What code an input reached, as g++ -fsanitize-coverage=trace-pc tells it.
#pragma once
#include <cstddef>

namespace tercel::test {

// Forgets which places the input reached.
void startInput();
// How many places the input reached that none before it had.
size_t newPlaces();
// Places reached by all inputs so far.
size_t allPlaces();

}  // namespace tercel::test
