#include "quarry/artifact/fossilize.h"

namespace quarry::artifact {
namespace {

// The escaped characters, and the letter after the backslash for each of them.
constexpr std::string_view kCharacters(" \t\n\r\f\v\0\\", 8);
constexpr std::string_view kLetters("stnrfv0\\", 8);

}  // namespace

std::string fossilize(std::string_view text) {
  std::string token;
  token.reserve(text.size() + text.size() / 4);
  for (const char c : text) {
    const std::size_t escaped = kCharacters.find(c);
    if (escaped != kCharacters.npos) token += '\\';
    token += escaped != kCharacters.npos ? kLetters[escaped] : c;
  }
  return token;
}

std::size_t defossilize_in_place(char* token, std::size_t size) {
  const std::size_t first = std::string_view(token, size).find('\\');
  if (first == std::string_view::npos) return size;
  std::size_t to = first;
  for (std::size_t from = first; from < size; ++from) {
    char c = token[from];
    // A backslash at the end of the token is kept.
    if (c == '\\' && from + 1 < size) {
      c = token[++from];
      if (const std::size_t letter = kLetters.find(c); letter != kLetters.npos) {
        c = kCharacters[letter];
      }
    }
    token[to++] = c;
  }
  return to;
}

std::string defossilize(std::string_view token) {
  std::string text(token);
  text.resize(defossilize_in_place(text.data(), text.size()));
  return text;
}

}  // namespace quarry::artifact
