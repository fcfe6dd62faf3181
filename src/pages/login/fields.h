// What a visitor tells fossil by parameters, wherever they stand, read as fossil reads it.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace quarry::pages {

/// Only what a login, or what is like one, is told by is kept, and no more different values of it than
/// tell that there are too many: the rest may be as large as a visitor likes.
class Fields {
 public:
  static constexpr std::size_t kMaxValues = 17;  // of a name

  /// NAME=VALUE pairs with SEPARATOR between them: a query, a form, cookies.
  void add_pairs(std::string_view text, char separator);
  /// A form of several parts, of which each has its name in lines before an empty one.
  void add_parts(std::string_view text);
  /// The texts in the objects of a JSON document, at whatever depth. False: it is none.
  bool add_json(std::string_view text);

  /// What NAME, in lower case, may be, each once.
  std::vector<std::string> values(std::string_view name) const;
  /// The same of all cookies of fossil.
  std::vector<std::string> cookies() const;
  /// Whether NAME is there with a value that is not empty.
  bool has(std::string_view name) const;

 private:
  void keep(std::string_view key, std::string value);

  std::map<std::string, std::vector<std::string>, std::less<>> kept_;
};

/// TEXT with its + and %XX undone; a % without two digits stays. It ends before a NUL, as a string of
/// C does.
std::string decoded_as_fossil_does(std::string_view text);

/// What TEXT, in base64, stands for: with what belongs to no base64 taken for zeroes.
std::string base64_as_fossil_does(std::string_view text);

}  // namespace quarry::pages
