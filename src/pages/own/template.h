// Page templates (mustache): {{name}} is replaced by text, escaped with base::escape_markup();
// {{#name}}…{{/name}} repeats for each element of a list, or appears if there is a value.
//
// Unescaped text is impossible: a template that would allow it does not compile.
#pragma once

#include <kainjow/mustache.hpp>

#include <string>
#include <string_view>

namespace quarry::pages {

using Values = kainjow::mustache::data;

class Template {
 public:
  consteval Template(const char* text) : text_(text) {
    const std::string_view view = text;
    if (view.find("{{{") != std::string_view::npos || view.find("{{&") != std::string_view::npos ||
        view.find("{{=") != std::string_view::npos || view.find("{{>") != std::string_view::npos) {
      throw "a template may only hold what is escaped";
    }
  }

  std::string fill(const Values& values) const;

 private:
  const char* text_;
};

}  // namespace quarry::pages
