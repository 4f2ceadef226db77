#include "program/format.h"

#include <bit>
#include <cstring>
#include <new>
#include <type_traits>

#include "program/validate.h"

namespace tercel::program {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr char kMagic[8] = {'T', 'E', 'R', 'C', 'E', 'L', 'P', 'G'};

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t reserved;
  uint64_t payload_bytes;
  uint64_t payload_hash;
};

// The order of the fields stands once, in transfer() below; Writer and Reader are its two
// directions, and what a file does not hold is the Reader's failure.
class Writer {
 public:
  static constexpr bool kReading = false;

  template <class T>
  void number(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    raw(&value, sizeof(T));
  }
  void flag(const bool& value) { number<uint8_t>(value); }
  void text(const std::string& value) { bytes(value); }
  template <class Container>
  void bytes(const Container& value) {
    number<uint64_t>(value.size());
    raw(value.data(), value.size());
  }
  template <class Container, class F>
  void list(const Container& items, size_t, F each) {
    number<uint64_t>(items.size());
    for (const auto& item : items) each(item);
  }

  std::vector<std::byte> out;

 private:
  void raw(const void* data, size_t size) {
    const auto* from = static_cast<const std::byte*>(data);
    out.insert(out.end(), from, from + size);
  }
};

class Reader {
 public:
  static constexpr bool kReading = true;
  explicit Reader(std::span<const std::byte> in) : in_(in) {}

  template <class T>
  void number(T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (in_.size() < sizeof(T)) return fail();
    std::memcpy(&value, in_.data(), sizeof(T));
    in_ = in_.subspan(sizeof(T));
  }
  void flag(bool& value) {
    uint8_t byte = 0;
    number(byte);
    if (byte > 1) return fail();
    value = byte == 1;
  }
  void text(std::string& value) { bytes(value); }
  template <class Container>
  void bytes(Container& value) {
    uint64_t size = 0;
    number(size);
    if (size > in_.size()) return fail();
    const auto* from = reinterpret_cast<const typename Container::value_type*>(in_.data());
    value.assign(from, from + size);
    in_ = in_.subspan(size);
  }
  // An item takes `least` bytes or more, so that a damaged count cannot ask for much memory.
  template <class Container, class F>
  void list(Container& items, size_t least, F each) {
    uint64_t count = 0;
    number(count);
    if (count > in_.size() / least) return fail();
    items.resize(count);
    for (auto& item : items) {
      if (failed_) return;
      each(item);
    }
  }
  bool failed() const { return failed_; }
  bool atEnd() const { return in_.empty(); }

 private:
  void fail() {
    failed_ = true;
    in_ = {};
  }
  std::span<const std::byte> in_;
  bool failed_ = false;
};

template <class IO, class T>
void transferNumbers(IO& io, T& items) {
  io.list(items, sizeof(typename T::value_type), [&](auto& item) { io.number(item); });
}

template <class IO, class ShapeT>
void transferShape(IO& io, ShapeT& shape) {
  io.number(shape.dtype);
  transferNumbers(io, shape.dims);
}

template <class IO, class StepT>
void transferStep(IO& io, StepT& step) {
  io.number(step.kind);
  io.number(step.target);
  transferNumbers(io, step.slots);
  transferNumbers(io, step.sequences);
  transferNumbers(io, step.values);
  io.number(step.tasks);
  io.number(step.grain);
  io.number(step.cost);
  io.text(step.name);
  io.text(step.text);
}

template <class IO, class ProgramT>
void transferSignature(IO& io, ProgramT& program) {
  io.text(program.name);
  io.text(program.target_cpu);
  io.text(program.target_features);
  io.list(program.arguments, 16, [&](auto& argument) {
    transferShape(io, argument.shape);
    io.flag(argument.is_token);
    io.number(argument.aliased_result);
    io.flag(argument.may_donate);
    io.text(argument.memory_kind);
  });
  io.list(program.results, 16, [&](auto& result) {
    transferShape(io, result.shape);
    io.flag(result.is_token);
    io.text(result.memory_kind);
  });
}

template <class IO, class ProgramT>
void transfer(IO& io, ProgramT& program) {
  transferSignature(io, program);
  io.list(program.slots, 21, [&](auto& slot) {
    io.number(slot.place);
    io.number(slot.index);
    io.number(slot.offset);
    io.number(slot.bytes);
  });
  io.list(program.kernels, 20, [&](auto& kernel) {
    io.text(kernel.symbol);
    io.number(kernel.object);
    io.number(kernel.scratch_bytes);
  });
  io.list(program.sequences, 8, [&](auto& sequence) {
    io.list(sequence, 61, [&](auto& step) { transferStep(io, step); });
  });
  io.list(program.objects, 8, [&](auto& object) { io.bytes(object); });
  io.bytes(program.constants);
  io.number(program.arena_bytes);
  io.number(program.cost);
  io.number(program.flops);
  io.number(program.bytes_accessed);
}

Status checkHeader(std::span<const std::byte> bytes, Header& header) {
  if (bytes.size() < sizeof(kMagic) || std::memcmp(bytes.data(), kMagic, sizeof(kMagic)) != 0) {
    return invalidArgument("not a Tercel program");
  }
  if (bytes.size() < sizeof(Header)) return Status(Code::data_loss, "program file is cut short");
  std::memcpy(&header, bytes.data(), sizeof(Header));
  if (header.version != kFormatVersion || header.reserved != 0) {
    return invalidArgument("program file has format version ", header.version, "; this is ",
                           kFormatVersion);
  }
  if (header.payload_bytes != bytes.size() - sizeof(Header)) {
    return Status(Code::data_loss, cat("program file should have ", header.payload_bytes,
                                       " bytes of content, not ", bytes.size() - sizeof(Header)));
  }
  return Status();
}

}  // namespace

// Multiply and fold, eight bytes at a time.
uint64_t hashBytes(std::span<const std::byte> bytes) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  uint64_t hash = 0x2545f4914f6cdd1d ^ bytes.size();
  auto mix = [&](uint64_t word) {
    unsigned __int128 product = static_cast<unsigned __int128>(hash ^ word) * kOdd;
    hash = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
    hash = std::rotl(hash + word, 29);
  };
  uint64_t word = 0;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    std::memcpy(&word, bytes.data(), 8);
    mix(word);
  }
  word = 0;
  if (!bytes.empty()) std::memcpy(&word, bytes.data(), bytes.size());
  mix(word);
  mix(kOdd);
  return hash;
}

std::vector<std::byte> serialize(const Program& program) {
  Writer writer;
  size_t content = program.constants.size() + 4096;
  for (const auto& object : program.objects) content += object.size();
  writer.out.reserve(content);
  writer.out.resize(sizeof(Header));
  transfer(writer, program);
  std::span<const std::byte> payload = std::span(writer.out).subspan(sizeof(Header));
  Header header{{}, kFormatVersion, 0, payload.size(), hashBytes(payload)};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  std::memcpy(writer.out.data(), &header, sizeof(Header));
  return std::move(writer.out);
}

Result<Program> deserialize(std::span<const std::byte> bytes) try {
  Header header;
  TERCEL_TRY(checkHeader(bytes, header));
  std::span<const std::byte> payload = bytes.subspan(sizeof(Header));
  if (hashBytes(payload) != header.payload_hash) {
    return Status(Code::data_loss, "program file is damaged: its checksum does not match");
  }
  Program program;
  Reader reader(payload);
  transfer(reader, program);
  if (reader.failed() || !reader.atEnd()) {
    return invalidArgument("program file is malformed");
  }
  TERCEL_TRY(validate(program));
  return program;
} catch (const std::bad_alloc&) {
  return resourceExhausted("no memory for a program file of ", bytes.size(), " bytes");
}

}  // namespace tercel::program
