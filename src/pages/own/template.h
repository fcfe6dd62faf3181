// Page templates (mustache). {{name}} is replaced by text, escaped with base::escape_page_text().
// {{#name}}…{{/name}} is repeated for each element of a list. For a value that is not a list, this
// part appears only if the value is set.
//
// A template with unescaped text does not compile.
#pragma once

#include <kainjow/mustache.hpp>

#include <stdexcept>
#include <string>
#include <string_view>

#include "quarry/base/escape.h"

namespace quarry::pages {

using Values = kainjow::mustache::data;

class Template {
 public:
  consteval Template(const char* text) : text_(text) {
    const std::string_view view = text;
    if (view.find("{{{") != std::string_view::npos || view.find("{{&") != std::string_view::npos ||
        view.find("{{=") != std::string_view::npos || view.find("{{>") != std::string_view::npos) {
      throw "a template must not contain unescaped values";
    }
  }

  std::string fill(const Values& values) const {
    kainjow::mustache::mustache page{std::string(text_)};
    page.set_custom_escape([](const std::string& text) { return base::escape_page_text(text); });
    std::string filled = page.render(values);
    if (!page.is_valid()) throw std::logic_error("malformed template: " + page.error_message());
    return filled;
  }

 private:
  const char* text_;
};

}  // namespace quarry::pages
