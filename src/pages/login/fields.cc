#include "fields.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "quarry/base/ascii.h"
#include "quarry/http/form.h"
#include "quarry/http/syntax.h"

namespace quarry::pages {
namespace {

constexpr std::string_view kSpaces = " \t\n\v\f\r";
constexpr std::string_view kCookie = "fossil-";
constexpr std::array<std::string_view, 10> kNames{"u",    "p",  "n1",   "n2",    "n",
                                                  "name", "pw", "repo", "login", "password"};
// Length of the longest relevant name. Names of cookies can be longer.
constexpr std::size_t kLongestKey = 15;
constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string_view until_nul(std::string_view text) {
  return text.substr(0, text.find('\0'));
}

std::string in_lower_case(std::string_view text) {
  std::string lowered(text);
  std::ranges::transform(lowered, lowered.begin(), base::ascii_lower);
  return lowered;
}

/// Returns the key for the values of NAME, or "" if they are not relevant. Like fossil, ignores the
/// case of NAME.
std::string key_of(std::string_view name) {
  std::string key = in_lower_case(name.substr(0, kLongestKey));
  if (key.starts_with(kCookie)) return std::string(kCookie);
  const bool is_kept = name.size() <= kLongestKey && std::ranges::find(kNames, key) != kNames.end();
  return is_kept ? key : "";
}

/// Removes a word from LINE, which is not empty. The word is quoted, or ends at a space or
/// semicolon.
std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t\n\v\f\r;"), line.size()));
  const bool is_quoted = line.starts_with('"');
  if (is_quoted) line.remove_prefix(1);
  const std::size_t end =
      std::min(is_quoted ? line.find('"') : line.find_first_of(" \t\n\v\f\r;\""), line.size());
  const std::string_view word = line.substr(0, end);
  // A quotation mark starts the next word.
  const bool is_end = end < line.size() && (is_quoted || line[end] != '"');
  line.remove_prefix(end + (is_end ? 1 : 0));
  return word;
}

/// Returns the name in a part's header LINE, which is the word after `name=`. Like fossil, accepts
/// abbreviations of `name`.
std::optional<std::string> name_in(std::string_view line) {
  while (!line.empty()) {
    const std::string word = in_lower_case(take_word(line));
    if (!word.empty() && std::string_view("name=").starts_with(word)) {
      return in_lower_case(take_word(line));
    }
  }
  return std::nullopt;
}

/// Removes text from TEXT up to and including the next line that begins with BORDER. Returns the
/// text before that line.
std::string_view take_content(std::string_view& text, std::string_view border) {
  std::size_t end = text.find('\n');
  while (end != std::string_view::npos && !text.substr(end + 1).starts_with(border)) {
    end = text.find('\n', end + 1);
  }
  std::string_view content = text.substr(0, end);
  text.remove_prefix(std::min(content.size() + 1, text.size()));
  http::take_line(text);
  if (content.ends_with('\r')) content.remove_suffix(1);
  return content;
}

std::uint32_t bits_of(char c) {
  const auto place = kBase64.find(static_cast<char>(c & 0x7f));
  return place == std::string_view::npos ? 0 : static_cast<std::uint32_t>(place);
}

}  // namespace

std::string decoded_as_fossil_does(std::string_view text) {
  return std::string(until_nul(http::form_decode_leniently(text)));
}

std::string base64_as_fossil_does(std::string_view text) {
  text = text.substr(0, text.find_last_not_of('=') + 1);
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); i += 4) {
    const std::string_view four = text.substr(i, 4);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 4; ++k) bits = bits << 6 | (k < four.size() ? bits_of(four[k]) : 0);
    const std::array<char, 3> bytes{static_cast<char>(bits >> 16), static_cast<char>(bits >> 8),
                                    static_cast<char>(bits)};
    decoded.append(bytes.data(), four.size() * 3 / 4);
  }
  return std::string(until_nul(decoded));
}

void Fields::keep(std::string_view key, std::string value) {
  if (key.empty()) return;
  auto& values = kept_.try_emplace(std::string(key)).first->second;
  if (values.size() < kMaxValues && std::ranges::find(values, value) == values.end()) {
    values.push_back(std::move(value));
  }
}

void Fields::add_pairs(std::string_view text, char separator) {
  text = until_nul(text);
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(separator), text.size()));
    if (text.empty()) return;
    std::string_view pair = text.substr(0, text.find(separator));
    text.remove_prefix(pair.size());
    pair.remove_prefix(std::min(pair.find_first_not_of(kSpaces), pair.size()));
    const std::size_t end = std::min(pair.find('='), pair.size());
    const std::string key = key_of(pair.substr(0, end));
    if (key.empty()) continue;
    pair.remove_prefix(std::min(end + 1, pair.size()));
    keep(key, decoded_as_fossil_does(pair));
  }
}

void Fields::add_parts(std::string_view text) {
  const std::string_view border = http::take_line(text);
  std::optional<std::string> name;
  while (!text.empty()) {
    const std::string_view line = http::take_line(text);
    if (!line.empty()) {
      if (auto found = name_in(line)) name = std::move(found);
      continue;
    }
    const std::string_view content = take_content(text, border);
    if (name) keep(key_of(*std::exchange(name, std::nullopt)), std::string(until_nul(content)));
  }
}

bool Fields::add_json(std::string_view text) {
  std::string name;
  const auto look = [&](int, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
    if (event == nlohmann::json::parse_event_t::key) {
      name = until_nul(parsed.get_ref<const std::string&>());
    } else if (event == nlohmann::json::parse_event_t::value && parsed.is_string()) {
      keep(key_of(name), std::string(until_nul(parsed.get_ref<const std::string&>())));
    }
    return true;
  };
  return !nlohmann::json::parse(text, look, /*allow_exceptions=*/false).is_discarded();
}

std::vector<std::string> Fields::values(std::string_view name) const {
  const auto found = kept_.find(name);
  return found == kept_.end() ? std::vector<std::string>{} : found->second;
}

std::vector<std::string> Fields::cookies() const {
  return values(kCookie);
}

bool Fields::has(std::string_view name) const {
  return std::ranges::any_of(values(name), [](const std::string& value) { return !value.empty(); });
}

}  // namespace quarry::pages
