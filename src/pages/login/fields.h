// The parameters of a request, parsed like in fossil: from the query, form, cookies and JSON.
// Fossil receives the results of these functions instead of the parsed text, so that fossil cannot
// parse the text differently.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quarry::pages {

/// Keeps only fields that are relevant for logins, and at most kMaxValues values per name. The
/// limit saves memory, and is high enough to detect too many values.
class Fields {
 public:
  static constexpr std::size_t kMaxValues = 17;  // per name
  /// Maximum number of pairs or parts in one text. Fossil accepts fewer.
  static constexpr std::size_t kMaxPairs = 1000;

  /// Adds NAME=VALUE pairs with SEPARATOR between them: a query, a form, or cookies. Returns the
  /// pairs, or nullopt if there are too many. Pairs that matter for logins are encoded again.
  std::optional<std::string> add_pairs(std::string_view text, char separator);
  /// Adds a multipart form (RFC 7578) as browsers write it. A part can have only these headers:
  ///
  ///   Content-Disposition: form-data; name="NAME"; filename="FILE"
  ///   Content-Type: TYPE; KEY=VALUE
  ///
  /// Returns false if TEXT has too many parts, or parts with other headers, in which fossil could
  /// find other names.
  bool add_parts(std::string_view text);
  /// Adds the string members of objects in a JSON document, at any depth. Returns the document as
  /// it was parsed, written as JSON. Returns nullopt if TEXT is not JSON or is nested too deeply
  /// for fossil.
  std::optional<std::string> add_json(std::string_view text);

  /// Returns all distinct values of NAME, which must be in lower case.
  std::vector<std::string> values(std::string_view name) const;
  /// Returns all distinct values of fossil's login cookies.
  std::vector<std::string> cookies() const;
  /// Returns whether NAME has any value, even an empty one.
  bool has(std::string_view name) const { return kept_.contains(name); }
  /// Returns whether any value of NAME is not empty.
  bool has_text(std::string_view name) const;

 private:
  void keep(std::string_view key, std::string value);

  std::map<std::string, std::vector<std::string>, std::less<>> kept_;
};

/// Returns TEXT with + and %XX decoded. A % without two hex digits is kept. Like a C string, the
/// result ends at a NUL.
std::string decoded_as_fossil_does(std::string_view text);

/// Returns TEXT decoded from base64. Invalid characters count as zero.
std::string base64_as_fossil_does(std::string_view text);

}  // namespace quarry::pages
