// The lines of a Markdown text that are not shown where they stand:
//
//   [name]: target "title"     gives a target a name, for [text][name] and [name]
//   [^label]: text             a footnote, for [^label]; with the lines after it that two or more
//                              spaces indent
#pragma once

#include <string>
#include <string_view>

#include "markdown_spans.h"

namespace quarry::repository {

struct MarkdownDefinitions {
  MarkdownNames names;
  MarkdownFootnotes footnotes;
  std::string rest;  // the text without those lines, with '\n' alone as line ends
};

MarkdownDefinitions take_definitions(std::string_view text);

}  // namespace quarry::repository
