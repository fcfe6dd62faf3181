// A request's parameters from the query, form, cookies and JSON, parsed as fossil parses them.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace quarry::pages {

/// Keeps only the fields that matter for logins. For each field it keeps only as many different
/// values as are needed to see that there are too many, so memory use is limited whatever the
/// client sends.
class Fields {
 public:
  static constexpr std::size_t kMaxValues = 17;  // per name

  /// Adds NAME=VALUE pairs with SEPARATOR between them: a query, a form, or cookies.
  void add_pairs(std::string_view text, char separator);
  /// Adds a multipart form. Each part has its name in header lines before an empty line.
  void add_parts(std::string_view text);
  /// Adds the string members of objects in a JSON document, at any depth. Returns false if TEXT is
  /// not JSON.
  bool add_json(std::string_view text);

  /// Returns all distinct values of NAME, which must be in lower case.
  std::vector<std::string> values(std::string_view name) const;
  /// Returns all distinct values of fossil's login cookies.
  std::vector<std::string> cookies() const;
  /// Returns whether NAME has a value that is not empty.
  bool has(std::string_view name) const;

 private:
  void keep(std::string_view key, std::string value);

  std::map<std::string, std::vector<std::string>, std::less<>> kept_;
};

/// Returns TEXT with + and %XX decoded. A % without two hex digits is kept. Ends at a NUL, like a C
/// string.
std::string decoded_as_fossil_does(std::string_view text);

/// Returns TEXT decoded from base64. Characters outside base64 count as zero.
std::string base64_as_fossil_does(std::string_view text);

}  // namespace quarry::pages
