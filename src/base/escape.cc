#include "quarry/base/escape.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace quarry::base {
namespace {

constexpr std::size_t kDirectionControl = 3;  // length in UTF-8

bool is_control(unsigned char byte) {
  return byte < 0x20 || byte == 0x7F;
}

void append_hex(std::string& out, char byte) {
  fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(byte));
}

/// If TEXT starts with a bidirectional control character (Unicode's Bidi_Control, without the
/// implicit marks), returns its code point, otherwise 0.
unsigned direction_control(std::string_view text) {
  const unsigned last = text.size() < kDirectionControl ? 0 : static_cast<unsigned char>(text[2]);
  if (text.starts_with("\xE2\x80") && last >= 0xAA && last <= 0xAE) return 0x2000 + (last & 0x3F);
  if (text.starts_with("\xE2\x81") && last >= 0xA6 && last <= 0xA9) return 0x2040 + (last & 0x3F);
  return 0;
}

}  // namespace

std::size_t utf8_sequence(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  std::size_t length = 0;
  if (lead >= 0xC2 && lead <= 0xDF) length = 2;
  if (lead >= 0xE0 && lead <= 0xEF) length = 3;
  if (lead >= 0xF0 && lead <= 0xF4) length = 4;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  if (lead == 0xE0 && byte(1) < 0xA0) return 0;
  if (lead == 0xED && byte(1) > 0x9F) return 0;
  if (lead == 0xF0 && byte(1) < 0x90) return 0;
  if (lead == 0xF4 && byte(1) > 0x8F) return 0;
  // Reject U+0080 to U+009F, which terminals interpret as control characters.
  if (lead == 0xC2 && byte(1) < 0xA0) return 0;
  return length;
}

bool is_text(std::string_view text, std::string_view controls) {
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text[0]);
    if (byte < 0x80 && is_control(byte) && controls.find(text[0]) == text.npos) return false;
    const std::size_t length = byte < 0x80 ? 1 : utf8_sequence(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

void append_printable(std::string& out, std::string_view text, std::size_t limit,
                      std::string_view also) {
  const std::size_t end = out.size() + limit;
  while (!text.empty() && out.size() < end) {
    if (text[0] == '\\' || also.find(text[0]) != std::string_view::npos) {
      append_hex(out, text[0]);
      text.remove_prefix(1);
    } else {
      append_message_character(out, text);
    }
  }
  if (!text.empty()) out += "…";
}

void append_message_character(std::string& out, std::string_view& text) {
  const auto byte = static_cast<unsigned char>(text[0]);
  const std::size_t length = byte >= 0x80 ? utf8_sequence(text) : 1;
  if (is_control(byte) || length == 0) {
    append_hex(out, text[0]);
  } else if (direction_control(text) != 0) {
    for (const char each : text.substr(0, length)) append_hex(out, each);
  } else {
    out += text.substr(0, length);
  }
  text.remove_prefix(std::max<std::size_t>(length, 1));
}

std::string escape_markup(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string escape_page_text(std::string_view text) {
  std::string valid;
  while (!text.empty()) {
    if (const unsigned control = direction_control(text)) {
      valid += fmt::format("[U+{:04X}]", control);
      text.remove_prefix(kDirectionControl);
      continue;
    }
    const bool is_ascii = static_cast<unsigned char>(text[0]) < 0x80;
    const std::size_t length = is_ascii ? 1 : utf8_sequence(text);
    valid += length > 0 ? text.substr(0, length) : std::string_view("\ufffd");
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return escape_markup(valid);
}

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  append_printable(out, text, limit);
  return out;
}

std::string printable_message(std::string_view text, std::size_t limit) {
  std::string out;
  while (!text.empty() && out.size() < limit) append_message_character(out, text);
  if (!text.empty()) out += "…";
  return out;
}

void append_json_character(std::string& out, std::string_view& text) {
  const auto byte = static_cast<unsigned char>(text[0]);
  std::size_t length = 1;
  if (byte >= 0x80) {
    length = utf8_sequence(text);
    out += length > 0 ? text.substr(0, length) : std::string_view("\\ufffd");
    length = length > 0 ? length : 1;
  } else if (byte == '"' || byte == '\\') {
    out += '\\';
    out += text[0];
  } else if (is_control(byte)) {
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", byte);
  } else {
    out += text[0];
  }
  text.remove_prefix(length);
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) append_json_character(out, text);
  out += '"';
}

}  // namespace quarry::base
