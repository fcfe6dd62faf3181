#include "quarry/base/access_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "quarry/base/ascii.h"
#include "quarry/base/escape.h"

namespace quarry::base {
namespace {

constexpr std::string_view kDefault = R"(%R - %u %t "%m %r" %s)";
constexpr std::string_view kUsualTime = "%d/%b/%Y:%H:%M:%S %z";

/// A word in braces before a placeholder's letter, and its code for the renderer.
struct Modifier {
  char letter;  // letter of the placeholder
  std::string_view word;
  char code;
};

constexpr auto kModifiers = std::to_array<Modifier>({
    {'C', "total", 't'},
    {'C', "user", 'u'},
    {'C', "system", 's'},
    {'d', "seconds", 's'},
    {'d', "milli", 'm'},
    {'d', "milliseconds", 'm'},
    {'d', "micro", 'u'},
    {'d', "microseconds", 'u'},
    {'M', "bytes", 'b'},
    {'M', "kilo", 'k'},
    {'M', "kilobytes", 'k'},
    {'M', "mega", 'm'},
    {'M', "megabytes", 'm'},
});

constexpr std::string_view kWithNothing = "%flLmnpPqQrRsux";
constexpr std::string_view kWithWord = "CdM";
constexpr std::string_view kWithName = "eo";
constexpr std::string_view kWithTime = "tT";

bool has(std::string_view letters, char letter) {
  return letters.find(letter) != std::string_view::npos;
}

Result<char> modifier_named(char letter, std::string_view word) {
  std::string known;
  for (const Modifier& modifier : kModifiers) {
    if (modifier.letter != letter) continue;
    // A placeholder without a modifier, such as %d, uses the first modifier of its letter in
    // kModifiers.
    if (word.empty() || std::ranges::equal(modifier.word, word, {}, {}, ascii_lower)) {
      return modifier.code;
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", modifier.word);
  }
  return fail(ErrorCode::kInvalid, "%{} does not support \"{}\", only {}", letter, printable(word),
              known);
}

/// Removes a word in braces from the start of REST and returns the word.
Result<std::string_view> take_braces(std::string_view& rest) {
  if (!rest.starts_with('{')) return std::string_view();
  const std::size_t end = rest.find('}');
  if (end == std::string_view::npos) return fail(ErrorCode::kInvalid, "%{ is not closed by }");
  const std::string_view inside = rest.substr(1, end - 1);
  rest.remove_prefix(end + 1);
  return inside;
}

/// Removes a placeholder, without its %, from the start of REST and returns it.
Result<AccessPiece> take_placeholder(std::string_view& rest) {
  QUARRY_TRY_ASSIGN(const std::string_view inside, take_braces(rest));
  if (rest.empty())
    return fail(ErrorCode::kInvalid,
                "the last % is not followed by a placeholder (write %% for a %)");
  const char letter = rest.front();
  rest.remove_prefix(1);
  if (has(kWithTime, letter)) {
    return AccessPiece{letter, 0, std::string(inside.empty() ? kUsualTime : inside)};
  }
  if (has(kWithName, letter)) {
    if (!inside.empty()) return AccessPiece{letter, 0, std::string(inside)};
    return fail(ErrorCode::kInvalid, "%{} needs a name: %{{NAME}}{}", letter, letter);
  }
  if (has(kWithWord, letter)) {
    QUARRY_TRY_ASSIGN(const char code, modifier_named(letter, inside));
    return AccessPiece{letter, code};
  }
  if (!has(kWithNothing, letter)) {
    return fail(ErrorCode::kInvalid, "unknown placeholder %{}",
                printable(std::string_view(&letter, 1)));
  }
  if (!inside.empty()) {
    return fail(ErrorCode::kInvalid, "%{} does not support \"{}\" in braces", letter,
                printable(inside));
  }
  if (letter == '%') return AccessPiece{0, 0, "%"};
  return AccessPiece{letter, 0};
}

}  // namespace

AccessFormat AccessFormat::usual() {
  auto format = compile(kDefault);
  return format ? std::move(*format) : AccessFormat();
}

void AccessFormat::add(AccessPiece piece) {
  wants_usage_ = wants_usage_ || piece.letter == 'C' || piece.letter == 'M';
  wants_reply_header_ = wants_reply_header_ || piece.letter == 'o';
  if (piece.letter == 0 && !pieces_.empty() && pieces_.back().letter == 0) {
    pieces_.back().text += piece.text;
  } else {
    pieces_.push_back(std::move(piece));
  }
}

Result<AccessFormat> AccessFormat::compile(std::string_view text) {
  AccessFormat format;
  format.text_ = text;
  if (text == "json") {
    format.is_json_ = format.wants_usage_ = true;
    return format;
  }
  while (!text.empty()) {
    const std::size_t percent = std::min(text.find('%'), text.size());
    format.add({0, 0, std::string(text.substr(0, percent))});
    if (percent == text.size()) break;
    text.remove_prefix(percent + 1);
    QUARRY_TRY_ASSIGN(auto piece, take_placeholder(text));
    format.add(std::move(piece));
  }
  return format;
}

}  // namespace quarry::base
