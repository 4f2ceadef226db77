#include "program/packed.h"

#include <algorithm>
#include <new>

namespace tercel::program {
namespace {

constexpr size_t kExtended = 15;     // a length of four bits that goes on in bytes
constexpr size_t kLeastMatch = 4;
constexpr uint64_t kMostPacked = 255;  // bytes that one byte can stand for

// A block is a list of sequences: literals, then a copy of earlier bytes; the last has literals only.
class Unpacker {
 public:
  Unpacker(std::span<const std::byte> in, std::span<std::byte> out) : in_(in), out_(out) {}

  bool run() {
    for (;;) {
      if (in_.empty()) return false;
      const auto token = std::to_integer<size_t>(take());
      if (!copyLiterals(token >> 4)) return false;
      if (in_.empty()) return done_ == out_.size();
      if (!copyMatch(token & kExtended)) return false;
    }
  }

 private:
  std::byte take() {
    const std::byte first = in_[0];
    in_ = in_.subspan(1);
    return first;
  }

  bool extend(size_t& length) {
    if (length != kExtended) return true;
    for (;;) {
      if (in_.empty()) return false;
      const auto more = std::to_integer<size_t>(take());
      length += more;
      if (more != 255) return true;
    }
  }

  bool copyLiterals(size_t length) {
    if (!extend(length) || length > in_.size() || length > out_.size() - done_) return false;
    std::copy_n(in_.begin(), length, out_.begin() + done_);
    in_ = in_.subspan(length);
    done_ += length;
    return true;
  }

  // What is copied may overlap what it is copied to, whose bytes it then repeats.
  bool copyMatch(size_t length) {
    if (in_.size() < 2) return false;
    const auto low = std::to_integer<size_t>(take()), high = std::to_integer<size_t>(take());
    const size_t back = low | high << 8;
    if (!extend(length)) return false;
    length += kLeastMatch;
    if (back == 0 || back > done_ || length > out_.size() - done_) return false;
    for (size_t end = done_ + length; done_ < end; ++done_) out_[done_] = out_[done_ - back];
    return true;
  }

  std::span<const std::byte> in_;
  std::span<std::byte> out_;
  size_t done_ = 0;
};

}  // namespace

Packed stored(std::vector<std::byte> bytes) {
  const uint64_t size = bytes.size();
  return {size, std::move(bytes)};
}

Result<std::vector<std::byte>> unpack(const Packed& packed) try {
  if (packed.size == packed.bytes.size()) return packed.bytes;
  const Status damaged(Code::data_loss, "packed code is damaged");
  if (packed.size / kMostPacked > packed.bytes.size()) return damaged;
  std::vector<std::byte> out(packed.size);
  if (!Unpacker(packed.bytes, out).run()) return damaged;
  return out;
} catch (const std::bad_alloc&) {
  return resourceExhausted("no memory to unpack ", packed.size, " bytes");
}

}  // namespace tercel::program
