// Builds an HTML page. Literals in the source code are inserted unchanged. All other text is
// escaped here.
#pragma once

#include <fmt/core.h>

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
  /// Appends escaped text, for an element or a quoted attribute. Shows the control characters for
  /// the direction of text as, for example, [U+202E], because a browser would apply them: a reviewer
  /// would then see the characters of a line or of a file name in another order.
  Markup& text(std::string_view text) {
    std::string shown;
    while (!text.empty()) {
      const unsigned last = text.size() < 3 ? 0 : static_cast<unsigned char>(text[2]);
      const bool is_override = text.starts_with("\xE2\x80") && last >= 0xAA && last <= 0xAE;
      const bool is_isolate = text.starts_with("\xE2\x81") && last >= 0xA6 && last <= 0xA9;
      if (is_override || is_isolate) {
        shown += fmt::format("[U+{:04X}]", (is_isolate ? 0x2040 : 0x2000) + (last & 0x3F));
      } else {
        shown += text.front();
      }
      text.remove_prefix(is_override || is_isolate ? 3 : 1);
    }
    page_ += base::escape_page_text(shown);
    return *this;
  }
  /// Appends <td>TEXT</td>.
  Markup& cell(std::string_view text) { return raw("<td>").Markup::text(text).raw("</td>"); }
  std::string take() { return std::move(page_); }

 private:
  std::string page_;
};

}  // namespace quarry::worker
