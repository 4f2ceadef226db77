// Completes a text with the model of gpt.py: gpt [PROMPT]
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpt.hpp"

namespace {

constexpr std::size_t kLength = 160;

// Reads the whole prompt; the character that the model expects next.
int32_t encode(gpt_program::Instance& gpt, const std::string& prompt) {
  const std::vector<int32_t> characters(prompt.begin(), prompt.end());
  std::vector<int32_t> next(1);
  for (std::size_t read = 0; read < characters.size();) {
    const std::size_t left = characters.size() - read;
    const std::size_t size = left >= 16 ? 16 : left >= 4 ? 4 : 1;
    const gpt_program::Array<const int32_t> part(characters.data() + read, size);
    if (size == 16) gpt.encode_length16(part, next);
    if (size == 4) gpt.encode_length4(part, next);
    if (size == 1) gpt.encode_length1(part, next);
    read += size;
  }
  return next[0];
}

void complete(std::string text) {
  gpt_program::Instance gpt;
  std::vector<int32_t> next = {encode(gpt, text)};
  while (next[0] != '\n' && text.size() < kLength) {
    text += static_cast<char>(next[0]);
    const std::vector<int32_t> character = next;
    gpt.decode(character, next);
  }
  std::puts(text.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc > 1 && std::string(argv[1]).size() > kLength) throw std::length_error("too long");
    complete(argc > 1 ? argv[1] : "A kestrel hangs on");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
