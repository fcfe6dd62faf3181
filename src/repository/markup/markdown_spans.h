// Markdown inside a paragraph: finds the links in a run of text.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace quarry::repository {

/// The targets that are defined by lines "[name]: target". Names are in lower case, with single
/// spaces.
class MarkdownNames {
 public:
  void add(std::string name, std::string_view target) {
    entries_.emplace_back(std::move(name), target);
  }
  /// Call once, after all names have been added.
  void sort();
  /// Returns the target of NAME, or null if there is none. If a name has several targets, returns
  /// the target that fossil's binary search finds.
  const std::string* find(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, std::string>> entries_;
};

/// Maps the label of each footnote to its text. Footnotes are defined by lines "[^label]: text".
/// Labels have the same form as names.
using MarkdownFootnotes = std::map<std::string, std::string, std::less<>>;

/// Returns TEXT as a key of MarkdownNames, or an empty string if it does not contain a name.
std::string markdown_name(std::string_view text);

inline bool is_blank(char c) {
  return c == ' ' || c == '\t';
}
inline bool is_blank_or_newline(char c) {
  return is_blank(c) || c == '\n';
}

/// Returns the number of leading spaces in TEXT, at most LIMIT.
std::size_t spaces_before(std::string_view text, std::size_t limit);

class MarkdownSpans {
 public:
  /// NAMES is not owned. Adds targets to LINKS. Footnotes are parsed where they are referenced.
  MarkdownSpans(const MarkdownNames& names, MarkdownFootnotes footnotes,
                std::vector<std::string>& links)
      : names_(names), footnotes_(std::move(footnotes)), links_(links) {}

  void read(std::string_view text);

  /// Returns the position after the code span that begins at AT in TEXT. If the backticks at AT do
  /// not begin a code span, returns the position after the backticks. Returns the end of TEXT if
  /// the work limit is reached.
  std::size_t after_code_span(std::string_view text, std::size_t at);
  /// Counts STEPS of work. Returns false if the limit has been reached. The rest of the text is
  /// then skipped.
  bool may_go_on(std::size_t steps);
  /// Maximum depth of nesting.
  static constexpr int kDeepest = 200;
  struct Level {
    explicit Level(int& depth) : depth_(depth) { ++depth_; }
    ~Level() { --depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    bool is_too_deep() const { return depth_ > kDeepest; }
    int& depth_;
  };
  int& depth() { return depth_; }

 private:
  std::size_t read_emphasis(std::string_view text, char before);
  std::size_t read_single(std::string_view text, char mark);
  std::size_t read_double(std::string_view text, char mark);
  std::size_t read_triple(std::string_view all, char mark);
  std::size_t read_link(std::string_view text, bool is_image);
  void read_footnote(std::string_view label);
  std::size_t next_mark(std::string_view text, char mark);

  const MarkdownNames& names_;
  MarkdownFootnotes footnotes_;  // not parsed yet
  std::vector<std::string>& links_;
  std::size_t steps_ = 0;
  int depth_ = 0;
};

}  // namespace quarry::repository
