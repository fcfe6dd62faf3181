// Definitions in a Markdown text. They are not displayed at their position in the text:
//
//   [name]: target "title"     defines the target of [text][name] and [name]
//   [^label]: text             defines the footnote [^label], which includes the following lines
//                              if they are indented by at least two spaces
#pragma once

#include <string>
#include <string_view>

#include "markdown_spans.h"

namespace quarry::repository {

struct MarkdownDefinitions {
  MarkdownNames names;
  MarkdownFootnotes footnotes;
  std::string rest;  // the text without definitions, and with '\n' line ends
};

MarkdownDefinitions take_definitions(std::string_view text);

}  // namespace quarry::repository
