// Splits text at a separator.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace quarry::base {

/// Removes the text up to and including the first SEPARATOR from TEXT. Returns that text without
/// the separator. If TEXT does not contain SEPARATOR, removes and returns all of TEXT.
constexpr std::string_view take_until(std::string_view& text, char separator) {
  const std::string_view part = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}

/// Returns the words of TEXT, which are separated by one or more BLANKS.
inline std::vector<std::string> split_words(std::string_view text,
                                            std::string_view blanks = " \t") {
  std::vector<std::string> words;
  for (std::size_t at = text.find_first_not_of(blanks); at < text.size();
       at = text.find_first_not_of(blanks, at)) {
    const std::size_t end = std::min(text.find_first_of(blanks, at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

}  // namespace quarry::base
