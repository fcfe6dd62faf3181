// Pages as templates (mustache): {{name}} is text, and escaped, as everywhere, by
// base::escape_markup(); {{#name}}…{{/name}} stands for each of a list, or where there is a value.
//
// There is no way to put text in without that: what would do so in a template is no C++ here.
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
