// Builds an HTML page. Literals in the source code are inserted unchanged. All other text is
// escaped here.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "quarry/base/escape.h"

namespace quarry::worker {

/// Markup in the source code, known at compile time.
class Literal {
 public:
  consteval Literal(const char* text) : text_(text) {}  // NOLINT: implicit conversion is intended
  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

class Markup {
 public:
  Markup& raw(Literal literal) {
    page_ += literal.text();
    return *this;
  }
  /// Appends escaped text, for an element or a quoted attribute.
  Markup& text(std::string_view text) {
    page_ += base::escape_page_text(text);
    return *this;
  }
  /// Appends <td>TEXT</td>.
  Markup& cell(std::string_view text) { return raw("<td>").Markup::text(text).raw("</td>"); }
  std::string take() { return std::move(page_); }

 private:
  std::string page_;
};

}  // namespace quarry::worker
