// Definitions in a Markdown text, which are not shown where they are written:
//
//   [name]: target "title"     names a target, for [text][name] and [name]
//   [^label]: text             a footnote, for [^label]; includes the lines after it that are
//                              indented by at least two spaces
#pragma once

#include <string>
#include <string_view>

#include "markdown_spans.h"

namespace quarry::repository {

struct MarkdownDefinitions {
  MarkdownNames names;
  MarkdownFootnotes footnotes;
  std::string rest;  // the text without those lines, with '\n' as the only line end
};

MarkdownDefinitions take_definitions(std::string_view text);

}  // namespace quarry::repository
