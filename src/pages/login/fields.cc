#include "fields.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "quarry/base/ascii.h"
#include "quarry/base/blanks.h"
#include "quarry/base/split.h"
#include "quarry/http/form.h"
#include "quarry/http/syntax.h"

namespace quarry::pages {
namespace {

constexpr std::string_view kSpaces = " \t\n\v\f\r";
constexpr std::string_view kCookie = "fossil-";
constexpr auto kNames = std::to_array<std::string_view>(
    {"u", "p", "n1", "n2", "n", "name", "pw", "repo", "login", "password", "resid", "token"});
// Number of bytes of a name to compare, enough for all kNames and for the prefix of cookie names.
constexpr std::size_t kLongestKey = 15;
// Maximum depth of nested JSON. This is more than fossil accepts (15).
constexpr int kMaxDepth = 30;
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

/// Removes PREFIX, which is in lower case, from the front of TEXT. Ignores the case of TEXT.
bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!http::same_name(text.substr(0, prefix.size()), prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

/// Removes a value in quotation marks from the front of TEXT and returns it.
std::optional<std::string_view> take_quoted(std::string_view& text) {
  if (!text.starts_with('"')) return std::nullopt;
  text.remove_prefix(1);
  if (!text.contains('"')) return std::nullopt;
  return base::take_until(text, '"');
}

/// Removes a line from the front of TEXT and returns it. The line must end with CR LF, and must not
/// contain other control characters.
std::optional<std::string_view> take_header_line(std::string_view& text) {
  const std::size_t end = text.find("\r\n");
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 2);
  return http::is_field_value(line) ? std::optional(line) : std::nullopt;
}

/// If LINE is the Content-Disposition of a part, returns the name of the part.
std::optional<std::string_view> name_in(std::string_view line) {
  if (!take_prefix(line, "content-disposition: form-data; name=")) return std::nullopt;
  const auto name = take_quoted(line);
  if (take_prefix(line, "; filename=") && !take_quoted(line)) return std::nullopt;
  return line.empty() ? name : std::nullopt;
}

/// Returns whether LINE is a part's Content-Type whose parameters all have the form KEY=VALUE.
/// Other lines are refused: fossil might read a name after "name=" or an abbreviation of this word.
bool is_content_type(std::string_view line) {
  if (!take_prefix(line, "content-type: ")) return false;
  const auto is_word = [](std::string_view text) {
    return !text.empty() && text.find_first_of(" \t\"") == std::string_view::npos;
  };
  if (!is_word(base::take_until(line, ';'))) return false;
  while (!line.empty()) {
    const std::string_view parameter = base::trim_blanks(base::take_until(line, ';'));
    const std::size_t equals = parameter.find('=');
    if (!is_word(parameter) || equals >= parameter.size() - 1) return false;
  }
  return true;
}

/// Removes a part's header from the front of TEXT and returns the part's name.
std::optional<std::string_view> take_part_header(std::string_view& text) {
  std::optional<std::string_view> name;
  bool has_type = false;
  while (const auto line = take_header_line(text)) {
    if (line->empty()) return name;
    if (const auto found = name_in(*line); found && !name) {
      name = found;
    } else if (has_type || !is_content_type(*line)) {
      return std::nullopt;
    } else {
      has_type = true;
    }
  }
  return std::nullopt;
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

std::optional<std::string> Fields::add_pairs(std::string_view text, char separator) {
  std::string rebuilt;
  text = until_nul(text);
  for (std::size_t i = 0; i <= kMaxPairs; ++i) {
    text.remove_prefix(std::min(text.find_first_not_of(separator), text.size()));
    if (text.empty()) return rebuilt;
    std::string_view pair = base::take_until(text, separator);
    pair.remove_prefix(std::min(pair.find_first_not_of(kSpaces), pair.size()));
    if (!rebuilt.empty()) rebuilt += separator;
    std::string_view value = pair;
    const std::string key = key_of(base::take_until(value, '='));
    std::string decoded = key.empty() ? "" : decoded_as_fossil_does(value);
    if (key.empty() || key == kCookie) {
      rebuilt += pair;
    } else {
      rebuilt += key + "=" + http::percent_encode(decoded);
    }
    keep(key, std::move(decoded));
  }
  return std::nullopt;
}

bool Fields::add_parts(std::string_view text) {
  const auto border = take_header_line(text);
  if (!border || border->size() < 3 || !border->starts_with("--")) return false;
  if (text.empty()) return border->ends_with("--");
  const std::string line_of_border = "\n" + std::string(*border);
  for (std::size_t i = 0; i < kMaxPairs; ++i) {
    const auto name = take_part_header(text);
    if (!name) return false;
    const std::size_t end = text.find(line_of_border);
    if (end == std::string_view::npos || end == 0 || text[end - 1] != '\r') return false;
    if (const std::string key = key_of(*name); !key.empty()) {
      keep(key, std::string(until_nul(text.substr(0, end - 1))));
    }
    text.remove_prefix(end + line_of_border.size());
    if (text == "--" || text == "--\r\n") return true;
    if (!text.starts_with("\r\n")) return false;
    text.remove_prefix(2);
  }
  return false;
}

std::optional<std::string> Fields::add_json(std::string_view text) {
  std::string name;
  bool is_valid = true;
  const auto look = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
    if (event == nlohmann::json::parse_event_t::key) {
      name = parsed.get_ref<const std::string&>();
      is_valid = is_valid && !name.contains('\0');
    } else if (event == nlohmann::json::parse_event_t::value && parsed.is_string()) {
      auto& value = parsed.get_ref<std::string&>();
      value.resize(until_nul(value).size());
      keep(key_of(name), value);
    }
    is_valid = is_valid && depth <= kMaxDepth;
    return is_valid;
  };
  const auto document = nlohmann::json::parse(text, look, /*allow_exceptions=*/false);
  if (!is_valid || document.is_discarded()) return std::nullopt;
  return document.dump();
}

std::vector<std::string> Fields::values(std::string_view name) const {
  const auto found = kept_.find(name);
  return found == kept_.end() ? std::vector<std::string>{} : found->second;
}

std::vector<std::string> Fields::cookies() const {
  return values(kCookie);
}

bool Fields::has_text(std::string_view name) const {
  return std::ranges::any_of(values(name), [](const std::string& value) { return !value.empty(); });
}

}  // namespace quarry::pages
