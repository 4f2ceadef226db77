#include "runtime/linalg/side_by_side.h"

namespace tercel::linalg {
namespace {

constexpr int64_t kFewest = 4;
constexpr int64_t kLargestSide = 32;    // however few
constexpr int64_t kMostNumbers = 8192;  // in all lanes: what the second cache holds
// The larger matrices are, the less lanes gain, and the sooner other cores would: for each so many
// numbers of a matrix the batch is one more group of lanes.
constexpr int64_t kMostInMatrix = 16384, kNumbersOfGroup = 2048;

int64_t batchOf(const program::CallSignature& signature) {
  if (signature.operands.empty()) return 0;
  const Dims& dims = signature.operands[0].shape.dims;
  return dims.size() < 3 ? 1 : elementCount(std::span(dims).first(dims.size() - 2));
}

int64_t numberBytes(const program::CallSignature& signature) {
  return static_cast<int64_t>(byteSize(realPart(signature.operands[0].shape.dtype)));
}
int64_t lanesOf(const program::CallSignature& signature) {
  return kernels::vectorBytes(kernels::chosenIsa()) / numberBytes(signature);
}

// Whether `fits(rows, columns)` of all matrices, which have the first operand's dimensions.
template <class F>
bool allMatrices(const program::CallSignature& signature, F fits) {
  return std::ranges::all_of(signature.operands, [&](const program::CallValue& value) {
    const Dims& sizes = value.shape.dims;
    return sizes.size() < signature.operands[0].shape.dims.size() ||
           fits(sizes[sizes.size() - 2], sizes.back());
  });
}

}  // namespace

bool suitsLanes(Index batch, Index numbers) {
  return batch >= kFewest && numbers > 0 && numbers <= kMostNumbers;
}

bool isBatchOfSmall(const program::CallSignature& signature) {
  return batchOf(signature) >= kFewest &&
         allMatrices(signature, [&](int64_t rows, int64_t columns) {
           return rows <= kLargestSide && columns <= kLargestSide;
         });
}

bool isBatchForRotations(const program::CallSignature& signature, double worth) {
  if (!isBatchOfSmall(signature)) return false;
  const int64_t lanes = lanesOf(signature), batch = batchOf(signature);
  const double groups = static_cast<double>((batch + lanes - 1) / lanes);
  return allMatrices(signature, [&](int64_t rows, int64_t columns) {
    return static_cast<double>(std::max(rows, columns)) * groups <= worth * double(batch);
  });
}

bool isBatchForLanes(const program::CallSignature& signature) {
  if (isBatchOfSmall(signature)) return true;
  const int64_t batch = batchOf(signature);
  if (batch < kFewest) return false;
  const DType type = signature.operands[0].shape.dtype;
  const int64_t parts = isComplex(type) ? 2 : 1;
  const int64_t lanes = lanesOf(signature);
  return allMatrices(signature, [&](int64_t rows, int64_t columns) {
    const int64_t numbers = rows * columns * parts;
    return numbers <= kMostInMatrix && batch >= lanes * (2 + numbers / kNumbersOfGroup);
  });
}

bool isBatchForLanes(const program::CallSignature& signature, float worth) {
  constexpr float kReal = 2.5, kSmallOther = 2.6;
  if (!isBatchForLanes(signature)) return false;
  const Shape& matrices = signature.operands[0].shape;
  const int64_t lanes = lanesOf(signature), batch = batchOf(signature);
  const int64_t room = (batch + lanes - 1) / lanes * lanes, numbers = matrices.elements();
  if (!isComplex(matrices.dtype)) worth *= kReal;
  if (signature.operands.size() > 1 && 4 * signature.operands[1].shape.elements() <= numbers)
    worth *= kSmallOther;
  const float side = worth * float(batch) / float(room);
  return float(numbers) <= side * side * float(lanes * batch);
}

}  // namespace tercel::linalg
