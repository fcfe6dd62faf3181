// Parses Markdown blocks. Determines which parts of the text are code or HTML, and searches the
// other parts for links.

#include <algorithm>

#include "markdown_definitions.h"
#include "markdown_lines.h"
#include "text_links.h"

namespace quarry::repository {
namespace {

bool is_separator(std::string_view text, std::size_t at) {
  return text[at] == '|' && (at == 0 || text[at - 1] != '\\');
}

class MarkdownBlocks {
 public:
  explicit MarkdownBlocks(MarkdownSpans& spans) : spans_(spans) {}
  void read(std::string_view text);

 private:
  std::size_t heading(std::string_view text);
  std::size_t quotation(std::string_view text);
  static std::size_t code(std::string_view text);
  std::size_t list(std::string_view text);
  std::size_t item(std::string_view text, bool& is_block, bool& is_end);
  std::size_t after_in_table(std::string_view text, std::size_t at);
  bool is_table_line(std::string_view text);
  std::size_t table(std::string_view text);
  std::size_t row(std::string_view text);
  std::size_t paragraph(std::string_view text);

  MarkdownSpans& spans_;
};

void MarkdownBlocks::read(std::string_view text) {
  const MarkdownSpans::Level level(spans_.depth());
  if (level.is_too_deep()) return;
  while (!text.empty() && spans_.may_go_on(1)) {
    std::size_t used = 0;
    if (text[0] == '#') {
      used = heading(text);
    } else if (text[0] == '<') {
      used = html_block(text);
      if (used == 0 && !spans_.may_go_on(text.size())) return;
    }
    if ((text[0] == '`' || text[0] == '~') && !spans_.may_go_on(text.size())) return;
    if (used == 0) used = blank_line(text);
    if (used == 0 && is_rule(text)) used = line_length(text);
    if (used == 0 && quote_prefix(text) != 0) used = quotation(text);
    if (used == 0 && code_prefix(text) != 0) used = code(text);
    if (used == 0 && item_prefix(text) != 0) used = list(text);
    if (used == 0 && is_table_line(text)) used = table(text);
    if (used == 0) used = fenced_code(text);
    if (used == 0) used = paragraph(text);
    text.remove_prefix(std::min(std::max<std::size_t>(used, 1), text.size()));
  }
}

std::size_t MarkdownBlocks::heading(std::string_view text) {
  std::size_t begin = std::min<std::size_t>(text.find_first_not_of('#'), 6);
  begin = std::min(begin, text.size());
  while (begin < text.size() && is_blank(text[begin])) ++begin;
  const std::size_t line_end = std::min(text.find('\n', begin), text.size());
  std::size_t end = line_end;
  while (end > 0 && text[end - 1] == '#') --end;
  while (end > 0 && is_blank(text[end - 1])) --end;
  if (end <= begin) return paragraph(text);
  spans_.read(text.substr(begin, end - begin));
  return line_end;
}

std::size_t MarkdownBlocks::quotation(std::string_view text) {
  std::string inner;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::string_view rest = text.substr(at);
    const std::size_t line = line_length(rest);
    const std::size_t prefix = quote_prefix(rest.substr(0, line));
    if (prefix == 0 && blank_line(rest.substr(0, line)) != 0) {
      const std::string_view next = rest.substr(line);
      if (next.empty() || (quote_prefix(next) == 0 && blank_line(next) == 0)) {
        at += line;
        break;
      }
    }
    inner += rest.substr(prefix, line - prefix);
    at += line;
  }
  read(inner);
  return at;
}

std::size_t MarkdownBlocks::code(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::string_view rest = text.substr(at);
    const std::string_view line = rest.substr(0, line_length(rest));
    if (code_prefix(line) == 0 && blank_line(line) == 0) break;
    at += line.size();
  }
  return at;
}

std::size_t MarkdownBlocks::list(std::string_view text) {
  std::size_t at = 0;
  bool is_block = false, is_end = false;
  while (at < text.size() && !is_end) {
    const std::size_t used = item(text.substr(at), is_block, is_end);
    if (used == 0) break;
    at += used;
  }
  return at;
}

/// Reads one list item, including its lines and nested lists.
std::size_t MarkdownBlocks::item(std::string_view text, bool& is_block, bool& is_end) {
  const std::size_t own_indent = spaces_before(text, 3);
  const std::size_t begin = item_prefix(text);
  if (begin == 0) return 0;
  std::size_t at = begin;
  while (at < text.size() && text[at - 1] != '\n') ++at;
  std::string inner(text.substr(begin, at - begin));
  std::size_t sublist = 0;
  bool after_blank = false, has_blank = false;
  while (at < text.size()) {
    const std::string_view rest = text.substr(at);
    const std::string_view line = rest.substr(0, line_length(rest));
    if (blank_line(line) != 0) {
      after_blank = true;
      at += line.size();
      continue;
    }
    std::size_t cut = std::min(spaces_before(line, 4), line.size() - 1);
    std::size_t indent = cut;
    if (line[0] == '\t') cut = 1, indent = 8;
    const std::string_view body = line.substr(cut);
    if ((bullet_prefix(body) != 0 && !is_rule(body)) || number_prefix(body) != 0) {
      if (after_blank) has_blank = true;
      if (indent == own_indent) break;
      if (sublist == 0) sublist = inner.size();
    } else if (after_blank && cut < 4 && line[0] != '\t') {
      is_end = true;
      break;
    } else if (after_blank) {
      inner += '\n';
      has_blank = true;
    }
    after_blank = false;
    inner += body;
    at += line.size();
  }
  if (has_blank) is_block = true;
  const std::string_view all = inner;
  const std::size_t split = sublist != 0 && sublist < all.size() ? sublist : all.size();
  if (is_block) {
    read(all.substr(0, split));
  } else {
    spans_.read(all.substr(0, split));
  }
  if (split < all.size()) read(all.substr(split));
  return at;
}

/// Returns the next position in a line of a table after AT. Skips a whole code span, which can have
/// several lines.
std::size_t MarkdownBlocks::after_in_table(std::string_view text, std::size_t at) {
  return text[at] == '`' ? spans_.after_code_span(text, at) : at + 1;
}

bool MarkdownBlocks::is_table_line(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && is_blank(text[at])) ++at;
  int inner = 0, outer = at < text.size() && text[at] == '|' ? 1 : 0;
  while (at < text.size() && text[at] != '\n') {
    inner += is_separator(text, at) ? 1 : 0;
    at = after_in_table(text, at);
  }
  while (at > 0 && is_blank_or_newline(text[at - 1])) --at;
  if (at > 0 && is_separator(text, at - 1)) ++outer;
  return inner > 0 && inner - outer + 1 != 0;
}

std::size_t MarkdownBlocks::row(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && is_blank(text[at])) ++at;
  if (at < text.size() && text[at] == '|') ++at;
  bool is_last = false;
  while (at < text.size() && !is_last) {
    if (text[at] == ':') ++at;
    while (at < text.size() && is_blank(text[at])) ++at;
    const std::size_t begin = at;
    while (at < text.size() && !is_separator(text, at) && text[at] != '\n') {
      at = after_in_table(text, at);
    }
    std::size_t end = at;
    if (at < text.size()) is_last = text[at++] == '\n';
    if (end > begin && text[end - 1] == ':') --end;
    while (end > begin && is_blank(text[end - 1])) --end;
    spans_.read(text.substr(begin, end - begin));
  }
  return is_last ? at : text.size();
}

std::size_t MarkdownBlocks::table(std::string_view text) {
  const std::size_t head = text.find('\n');
  if (head == std::string_view::npos) {
    row(text);
    return text.size();
  }
  std::size_t at = text.find_first_not_of(" \t-:|", head + 1);
  if (at != std::string_view::npos && text[at] == '\n') {
    row(text.substr(0, head));
    ++at;
  } else {
    at = 0;
  }
  while (at < text.size() && is_table_line(text.substr(at))) at += row(text.substr(at));
  return at;
}

std::size_t MarkdownBlocks::paragraph(std::string_view text) {
  std::size_t at = 0, end = 0;
  bool is_heading = false;
  while (at < text.size()) {
    const std::string_view rest = text.substr(at);
    end = at + line_length(rest);
    if (blank_line(rest) != 0) break;
    is_heading = is_underline(rest);
    if (is_heading) break;
    if ((at > 0 && rest[0] == '#') || is_rule(rest)) {
      end = at;
      break;
    }
    at = end;
  }
  std::string_view body = text.substr(0, at);
  while (body.ends_with('\n')) body.remove_suffix(1);
  if (is_heading && !body.empty()) {
    // The last line is the heading. The text before it is a paragraph.
    const std::size_t last = body.rfind('\n');
    if (last != std::string_view::npos) {
      spans_.read(body.substr(0, last));
      body.remove_prefix(last + 1);
    }
  }
  spans_.read(body);
  return end;
}

}  // namespace

std::vector<std::string> markdown_links(std::string_view text) {
  std::vector<std::string> links;
  MarkdownDefinitions definitions = take_definitions(text);
  MarkdownSpans spans(definitions.names, std::move(definitions.footnotes), links);
  MarkdownBlocks(spans).read(definitions.rest);
  return links;
}

}  // namespace quarry::repository
