// A request's parameters from the query, form, cookies and JSON, parsed as fossil parses them.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace quarry::pages {

/// Keeps only fields that matter for logins, and of each only as many different values as are
/// needed to see that there are too many, so memory is bounded whatever the client sends.
class Fields {
 public:
  static constexpr std::size_t kMaxValues = 17;  // per name

  /// NAME=VALUE pairs with SEPARATOR between them: a query, a form, cookies.
  void add_pairs(std::string_view text, char separator);
  /// A multipart form: each part has its name in header lines before an empty line.
  void add_parts(std::string_view text);
  /// The string members of objects in a JSON document, at any depth. False: TEXT is not JSON.
  bool add_json(std::string_view text);

  /// All distinct values of NAME, which is in lower case.
  std::vector<std::string> values(std::string_view name) const;
  /// All distinct values of fossil's login cookies.
  std::vector<std::string> cookies() const;
  /// Whether NAME has a value that is not empty.
  bool has(std::string_view name) const;

 private:
  void keep(std::string_view key, std::string value);

  std::map<std::string, std::vector<std::string>, std::less<>> kept_;
};

/// TEXT with + and %XX decoded; a % without two hex digits stays. Ends at a NUL, like a C string.
std::string decoded_as_fossil_does(std::string_view text);

/// TEXT decoded from base64, where characters outside base64 count as zero.
std::string base64_as_fossil_does(std::string_view text);

}  // namespace quarry::pages
