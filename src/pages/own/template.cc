#include "template.h"

#include <stdexcept>

#include "quarry/base/escape.h"

namespace quarry::pages {

std::string Template::fill(const Values& values) const {
  kainjow::mustache::mustache page{std::string(text_)};
  page.set_custom_escape([](const std::string& text) { return base::escape_markup(text); });
  std::string filled = page.render(values);
  if (!page.is_valid()) throw std::logic_error("a template is malformed: " + page.error_message());
  return filled;
}

}  // namespace quarry::pages
