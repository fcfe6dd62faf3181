#include "quarry/artifact/fossilize.h"

namespace quarry::artifact {
namespace {

/// The letter after the backslash that stands for C, or NUL if C is not escaped.
constexpr char escape_letter(char c) {
  switch (c) {
    case ' ':
      return 's';
    case '\t':
      return 't';
    case '\n':
      return 'n';
    case '\r':
      return 'r';
    case '\f':
      return 'f';
    case '\v':
      return 'v';
    case '\0':
      return '0';
    case '\\':
      return '\\';
    default:
      return '\0';
  }
}

constexpr char escaped_character(char letter) {
  switch (letter) {
    case 's':
      return ' ';
    case 't':
      return '\t';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 'f':
      return '\f';
    case 'v':
      return '\v';
    case '0':
      return '\0';
    default:
      return letter;
  }
}

}  // namespace

std::string fossilize(std::string_view text) {
  std::string token;
  token.reserve(text.size() + text.size() / 4);
  for (const char c : text) {
    if (const char letter = escape_letter(c)) {
      token += '\\';
      token += letter;
    } else {
      token += c;
    }
  }
  return token;
}

std::size_t defossilize_in_place(char* token, std::size_t size) {
  const std::size_t first = std::string_view(token, size).find('\\');
  if (first == std::string_view::npos) return size;
  std::size_t to = first;
  for (std::size_t from = first; from < size; ++from) {
    char c = token[from];
    // A backslash at the end of the token stays.
    if (c == '\\' && from + 1 < size) c = escaped_character(token[++from]);
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
