// Makes the body of a webhook's request from a mustache template
// (https://mustache.github.io/mustache.5.html) and the JSON of an event.
//
// Partials ({{>name}}) and other delimiters ({{=<% %>=}}) are not supported. The size of a
// template, the depth of its sections, and the work for each event are limited, so that a faulty
// template cannot block the courier.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "quarry/base/result.h"

namespace quarry::courier {

inline constexpr std::size_t kMaxTemplate = std::size_t{64} << 10;  // bytes
/// Maximum size of a body from a template in bytes.
inline constexpr std::size_t kMaxTemplateBody = std::size_t{1} << 20;

class BodyTemplate {
 public:
  /// Reads the template in the file PATH. Errors: kNotFound, kDenied, kIo, kLimit, kInvalid (not a
  /// valid template). The message contains PATH.
  static Result<BodyTemplate> read(const std::string& path);
  /// Parses TEXT. Errors: kLimit, kInvalid.
  static Result<BodyTemplate> parse(std::string text);

  /// Fills the template with the values of EVENT, a JSON object, and returns the body. Adds members
  /// to EVENT: `subject` with the value SUBJECT; `short`, a short hash, to each object with a hash;
  /// and `last` to each object in a list, which is true for the last object. ESCAPE is applied to
  /// each {{value}} before it is escaped as a part of a JSON string. Errors: kInvalid (not JSON),
  /// kLimit (too much work, or the body is too long).
  Result<std::string> fill(std::string_view event, const std::string& subject,
                           const std::function<std::string(std::string_view)>& escape) const;

 private:
  explicit BodyTemplate(std::string text) : text_(std::move(text)) {}

  std::string text_;
};

}  // namespace quarry::courier
