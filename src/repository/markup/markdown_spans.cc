#include "markdown_spans.h"

#include <algorithm>

#include "quarry/base/ascii.h"
#include "quarry/base/blanks.h"
#include "text_links.h"

namespace quarry::repository {
namespace {

constexpr std::size_t kMaxSpanSteps = 20'000'000;

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool starts_with_nocase(std::string_view text, std::string_view prefix) {
  if (text.size() < prefix.size()) return false;
  return std::equal(prefix.begin(), prefix.end(), text.begin(),
                    [](char a, char b) { return a == base::ascii_lower(b); });
}

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

/// Returns whether a run of MARK between the characters BEFORE and AFTER can begin emphasis.
bool may_open(char mark, char before, char after) {
  if (is_space(after)) return false;
  if (base::is_ascii_alphanumeric(after))
    return mark != '_' || !base::is_ascii_alphanumeric(before);
  return !base::is_ascii_alphanumeric(before);
}

/// Returns whether a run of MARK between the characters BEFORE and AFTER can end emphasis. The rule
/// is the mirror image of the rule in may_open().
bool may_close(char mark, char before, char after) {
  return may_open(mark, after, before);
}

/// Returns the length of the run of C that begins at AT.
std::size_t run_of(std::string_view text, std::size_t at, char c) {
  return std::min(text.find_first_not_of(c, at), text.size()) - at;
}

/// Returns the end of the code span at the start of TEXT, or 0 if it is not closed.
std::size_t code_span(std::string_view text) {
  const std::size_t ticks = run_of(text, 0, '`');
  std::size_t seen = 0;
  for (std::size_t at = ticks; at < text.size(); ++at) {
    seen = text[at] == '`' ? seen + 1 : 0;
    if (seen == ticks) return at + 1;
  }
  return 0;
}

std::size_t mail_address(std::string_view text) {
  std::size_t at = 0, signs = 0;
  while (at < text.size() && (base::is_ascii_alphanumeric(text[at]) ||
                              std::string_view("-._@").find(text[at]) != std::string_view::npos)) {
    if (text[at++] == '@') ++signs;
  }
  return at < text.size() && text[at] == '>' && signs == 1 ? at + 1 : 0;
}

/// Returns the length of the HTML tag at the start of TEXT, or of the URL or email address in angle
/// brackets. Returns 0 if TEXT does not begin with any of these.
std::size_t tag_length(std::string_view text) {
  if (text.size() < 3) return 0;
  std::size_t at = text[1] == '/' ? 2 : 1;
  if (!is_letter(text[at])) return 0;
  const std::string_view inner = text.substr(1);
  std::size_t scheme = 0;
  for (const std::string_view known : {"http:", "https:", "ftp:"}) {
    if (starts_with_nocase(inner, known)) scheme = known.size();
  }
  if (scheme != 0) {
    at = 1 + scheme;
    const std::size_t end = text.find_first_of(">'\" \t\n", at);
    if (end == std::string_view::npos) return 0;
    if (end > at && text[end] == '>') return end + 1;
    at = end;
  } else {
    if (starts_with_nocase(inner, "mailto:")) at = 8;
    if (const std::size_t mail = mail_address(text.substr(std::min(at, text.size())))) {
      return at + mail;
    }
  }
  const std::size_t end = text.find('>', at);
  return end == std::string_view::npos ? 0 : end + 1;
}

/// Returns the target in the parentheses of a link, without its title.
std::string target_in(std::string_view inside) {
  std::size_t begin = 0;
  while (begin < inside.size() && is_blank_or_newline(inside[begin])) ++begin;
  std::size_t end = std::min(inside.find_first_of("'\"", begin), inside.size());
  if (end < inside.size()) {
    std::size_t last = inside.size() - 1;
    while (last > end + 1 && is_blank_or_newline(inside[last])) --last;
    // An unclosed quotation mark does not begin a title, but still ends the target.
    if (inside[last] != '\'' && inside[last] != '"') ++end;
  }
  while (end > begin && is_blank_or_newline(inside[end - 1])) --end;
  std::string_view target = inside.substr(begin, end - begin);
  if (target.starts_with('<')) target.remove_prefix(1);
  if (target.ends_with('>')) target.remove_suffix(1);
  std::string plain;
  for (const char c : target) {
    if (c != '\\') plain += c;
  }
  return plain;
}

/// Returns the position of the closing bracket for the bracket at the start of TEXT, or npos.
std::size_t closing_bracket(std::string_view text) {
  int level = 1;
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (text[at] == '\n' || text[at - 1] == '\\') continue;
    if (text[at] == '[') ++level;
    if (text[at] == ']' && --level == 0) return at;
  }
  return std::string_view::npos;
}

/// Returns the position of the closing parenthesis for the parenthesis at the start of TEXT, or
/// npos. Skips nested parentheses.
std::size_t closing_parenthesis(std::string_view text) {
  int level = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (at > 0 && text[at - 1] == '\\') continue;
    if (text[at] == '(') ++level;
    if (text[at] == ')' && --level == 0) return at;
  }
  return std::string_view::npos;
}

}  // namespace

std::size_t spaces_before(std::string_view text, std::size_t limit) {
  std::size_t count = 0;
  while (count < limit && count < text.size() && text[count] == ' ') ++count;
  return count;
}

std::string markdown_name(std::string_view text) {
  std::string name;
  for (const char c : base::trim_blanks(text, " \t\n")) {
    if (is_blank_or_newline(c)) {
      if (name.back() != ' ') name += ' ';
    } else {
      name += base::ascii_lower(c);
    }
  }
  return name;
}

void MarkdownNames::sort() {
  std::ranges::stable_sort(entries_, {},
                           [](const auto& entry) -> const std::string& { return entry.first; });
}

const std::string* MarkdownNames::find(std::string_view name) const {
  std::size_t begin = 0, end = entries_.size();
  while (begin < end) {
    const std::size_t middle = (begin + end) / 2;
    const int order = name.compare(entries_[middle].first);
    if (order == 0) return &entries_[middle].second;
    (order < 0 ? end : begin) = order < 0 ? middle : middle + 1;
  }
  return nullptr;
}

bool MarkdownSpans::may_go_on(std::size_t steps) {
  steps_ += steps;
  return steps_ < kMaxSpanSteps;
}

std::size_t MarkdownSpans::after_code_span(std::string_view text, std::size_t at) {
  const std::size_t length = code_span(text.substr(at));
  if (length != 0) return at + length;
  return may_go_on(text.size() - at) ? at + run_of(text, at, '`') : text.size();
}

void MarkdownSpans::read(std::string_view text) {
  const Level level(depth_);
  if (level.is_too_deep()) return;
  std::size_t at = 0;
  while ((at = text.find_first_of("*_`[<\\", at)) != std::string_view::npos) {
    const std::string_view rest = text.substr(at);
    std::size_t length = 0;
    switch (text[at]) {
      case '*':
      case '_':
        length = read_emphasis(rest, at > 0 ? text[at - 1] : ' ');
        break;
      case '`':
        length = code_span(rest);
        break;
      case '[':
        length = read_link(rest, at > 0 && text[at - 1] == '!');
        break;
      case '<':
        length = tag_length(rest);
        break;
      default:
        length = 2;
    }
    if (!may_go_on(length == 0 ? rest.size() : length)) return;
    at += std::max<std::size_t>(length, 1);
  }
}

void MarkdownSpans::read_footnote(std::string_view label) {
  // Remove the footnote from the map first, so that a footnote that refers to itself is read only
  // once.
  const auto note = footnotes_.extract(markdown_name(label));
  if (!note.empty()) read(note.mapped());
}

std::size_t MarkdownSpans::read_link(std::string_view text, bool is_image) {
  const std::size_t close = closing_bracket(text);
  if (close == std::string_view::npos) return 0;
  const std::string_view shown = text.substr(1, close - 1);
  if (shown.starts_with('^')) {
    read_footnote(shown.substr(1));
    return close + 1;
  }
  std::size_t at = close + 1;
  while (at < text.size() && is_blank_or_newline(text[at])) ++at;
  std::size_t end = close + 1;
  std::string target;
  if (text.substr(std::min(at, text.size())).starts_with("(^")) {
    const std::size_t stop = closing_parenthesis(text.substr(at));
    if (stop == std::string_view::npos) return 0;
    read(shown);
    read(text.substr(at + 2, stop - 2));
    return at + stop + 1;
  }
  if (at < text.size() && text[at] == '(') {
    std::size_t stop = at;
    do {
      stop = text.find(')', stop + 1);
    } while (stop != std::string_view::npos && text[stop - 1] == '\\');
    if (stop == std::string_view::npos) return 0;
    target = target_in(text.substr(at + 1, stop - at - 1));
    end = stop + 1;
  } else {
    std::string_view name = shown;
    if (at < text.size() && text[at] == '[') {
      const std::size_t stop = text.find(']', at);
      if (stop == std::string_view::npos) return 0;
      if (stop > at + 1) name = text.substr(at + 1, stop - at - 1);
      end = stop + 1;
      if (name.starts_with('^')) {
        read(shown);
        read_footnote(name.substr(1));
        return end;
      }
    }
    const std::string* found = names_.find(markdown_name(name));
    if (found == nullptr) return 0;
    target = *found;
  }
  if (is_image) return end;
  read(shown);
  add_link(target, links_);
  return end;
}

/// Returns the position of the next MARK in TEXT after the first byte, or 0 if there is none. Skips
/// escaped characters, code and links.
std::size_t MarkdownSpans::next_mark(std::string_view text, char mark) {
  std::size_t at = text[0] == '`' ? 0 : 1;
  const std::size_t size = text.size();
  while (at < size) {
    while (at < size && text[at] != mark && text[at] != '`' && text[at] != '[') ++at;
    if (at >= size) return 0;
    if (at > 0 && text[at - 1] == '\\') {
      ++at;
      continue;
    }
    if (text[at] == mark) return at;
    // If the code or link is invalid, the first mark inside it is used.
    std::size_t inside = 0;
    const auto skip_until = [&](char end) {
      while (at < size && text[at] != end) {
        if (inside == 0 && text[at] == mark) inside = at;
        ++at;
      }
    };
    if (text[at] == '`') {
      at = after_code_span(text, at);
      continue;
    }
    ++at;
    skip_until(']');
    ++at;
    while (at < size && is_blank_or_newline(text[at])) ++at;
    if (at >= size) return may_go_on(size) ? inside : 0;
    if (text[at] != '[' && text[at] != '(') {
      if (inside != 0) return may_go_on(at - inside) ? inside : 0;
      continue;
    }
    const char opened = text[at++];
    skip_until(opened);
    if (at >= size) return may_go_on(size) ? inside : 0;
    ++at;
  }
  return 0;
}

std::size_t MarkdownSpans::read_emphasis(std::string_view text, char before) {
  const char mark = text[0];
  const std::size_t marks = run_of(text, 0, mark);
  if (marks > 3 || text.size() <= marks + 1 || !may_open(mark, before, text[marks])) return 0;
  if (!may_go_on(text.size())) return 0;
  const std::size_t length = marks == 1   ? read_single(text.substr(1), mark)
                             : marks == 2 ? read_double(text.substr(2), mark)
                                          : read_triple(text, mark);
  return length == 0 ? 0 : length + marks;
}

/// Reads emphasis with one mark. TEXT is the text after the opening mark. Returns the length, which
/// includes the closing mark.
std::size_t MarkdownSpans::read_single(std::string_view text, char mark) {
  std::size_t at = text.size() > 1 && text[0] == mark && text[1] == mark ? 1 : 0;
  while (at < text.size()) {
    const std::size_t length = next_mark(text.substr(at), mark);
    if (length == 0 || !may_go_on(length)) return 0;
    at += length;
    if (at + 1 < text.size() && text[at + 1] == mark) {
      ++at;
      continue;
    }
    const char after = at + 1 < text.size() ? text[at + 1] : ' ';
    if (!may_close(mark, text[at - 1], after)) continue;
    read(text.substr(0, at));
    return at + 1;
  }
  return 0;
}

std::size_t MarkdownSpans::read_double(std::string_view text, char mark) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = next_mark(text.substr(at), mark);
    if (length == 0 || !may_go_on(length)) return 0;
    at += length;
    const char after = at + 2 < text.size() ? text[at + 2] : ' ';
    if (at + 1 < text.size() && text[at + 1] == mark && may_close(mark, text[at - 1], after)) {
      read(text.substr(0, at));
      return at + 2;
    }
    ++at;
  }
  return 0;
}

/// Reads emphasis with three marks at the start of ALL. The first closing run determines the
/// nesting.
std::size_t MarkdownSpans::read_triple(std::string_view all, char mark) {
  const std::string_view text = all.substr(3);
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = next_mark(text.substr(at), mark);
    if (length == 0 || !may_go_on(length)) return 0;
    at += length;
    if (is_blank_or_newline(text[at - 1])) continue;
    const std::size_t marks = run_of(text, at, mark);
    if (marks >= 3) {
      read(text.substr(0, at));
      return at + 3;
    }
    const std::size_t whole =
        marks == 2 ? read_single(all.substr(1), mark) : read_double(all.substr(2), mark);
    const std::size_t before = marks == 2 ? 2 : 1;
    return whole > before ? whole - before : 0;
  }
  return 0;
}

}  // namespace quarry::repository
