#include "stablehlo/mutator.h"

#include <algorithm>

namespace tercel::test {
namespace {

constexpr size_t kLongestPiece = 32;
// Ends of ranges, and first bytes of varints of every length.
constexpr unsigned char kTelling[] = {0x00, 0x01, 0x02, 0x03, 0x04, 0x07, 0x08, 0x0f, 0x10,
                                      0x20, 0x40, 0x7f, 0x80, 0x81, 0xc0, 0xfe, 0xff};

}  // namespace

std::string Mutator::mutate(std::string bytes, const std::string& other) {
  for (size_t changes = 1 + below(4); changes > 0; --changes) change(bytes, other);
  return bytes;
}

void Mutator::change(std::string& bytes, const std::string& other) {
  if (bytes.empty()) bytes.push_back('\0');
  size_t at = below(bytes.size());
  size_t length = 1 + below(std::min(kLongestPiece, bytes.size() - at));
  switch (below(8)) {
    case 0: bytes[at] ^= static_cast<char>(1 << below(8)); break;
    case 1: bytes[at] = static_cast<char>(below(256)); break;
    case 2: bytes[at] = static_cast<char>(kTelling[below(std::size(kTelling))]); break;
    case 3: bytes[at] += static_cast<char>(below(2) ? 2 : -2); break;  // the next varint of a byte
    case 4: bytes.erase(at, length); break;
    case 5: bytes.insert(below(bytes.size()), bytes.substr(at, length)); break;
    case 6: {  // over what is there, so that offsets stay
      if (other.empty()) break;
      std::string piece = other.substr(below(other.size()), length);
      bytes.replace(at, piece.size(), piece);
      break;
    }
    case 7:
      if (below(8) == 0) bytes.resize(at);
      else std::swap(bytes[at], bytes[below(bytes.size())]);
      break;
  }
}

}  // namespace tercel::test
