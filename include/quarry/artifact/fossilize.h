// Fossil's escape format for text in space-separated tokens. It is used in cards of structural
// artifacts (file names, comments) and of the sync protocol (user names, error texts).
//
//   space \s   tab \t   newline \n   carriage return \r   form feed \f   vertical tab \v
//   NUL \0     backslash \\ (doubled)
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace quarry::artifact {

std::string fossilize(std::string_view text);
/// Decodes TOKEN; the inverse of fossilize(). A backslash before any other character stands for
/// that character. A backslash at the end stands for itself.
std::string defossilize(std::string_view token);
/// Decodes the SIZE bytes at TOKEN in place, like defossilize(). Returns the size of the text,
/// which is at most SIZE.
std::size_t defossilize_in_place(char* token, std::size_t size);

}  // namespace quarry::artifact
