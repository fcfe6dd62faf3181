// Renders lines of a compiled access.format.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <iterator>

#include "quarry/base/access_format.h"
#include "quarry/base/ascii.h"
#include "quarry/base/escape.h"
#include "quarry/base/time.h"
#include "quarry/base/url.h"

namespace quarry::base {
namespace {

constexpr std::int64_t kMicros = 1000000;
// Maximum length of a value from a client. The limit keeps lines readable and below the size of a
// single write.
constexpr std::size_t kLongest = 2048;

double seconds(std::int64_t micros) {
  return static_cast<double>(micros) / static_cast<double>(kMicros);
}

/// Returns the request's variable NAME or, if the request does not have it, the process's (env[]).
std::string_view variable(const AccessRecord& record, const std::string& name) {
  for (const char* const* entry = record.variables; entry != nullptr && *entry != nullptr;
       ++entry) {
    const std::string_view text = *entry;
    if (text.size() > name.size() && text[name.size()] == '=' && text.starts_with(name)) {
      return text.substr(name.size() + 1);
    }
  }
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::string_view() : value;
}

constexpr std::string_view kHidden = "(hidden)";

/// Returns HEADER without the values of Fossil's two cookies, one for pages and one for clients.
std::string loggable_cookies(std::string_view header) {
  constexpr std::string_view kClients = "x-f-l-c=";
  constexpr std::string_view kPages = "fossil-";
  std::string shown;
  while (!header.empty()) {
    // Some proxies merge several headers, with commas between the values, so a cookie can also
    // begin after a comma.
    const std::size_t name = std::min(header.find_first_not_of(" \t,;"), header.size());
    const std::size_t value = std::min(header.find_first_of("=,;", name), header.size() - 1) + 1;
    const bool logs_in =
        std::ranges::equal(header.substr(name, kPages.size()), kPages, {}, ascii_lower);
    shown += header.substr(0, value);
    header.remove_prefix(value);
    if (!logs_in || !shown.ends_with('=')) continue;
    shown += kHidden;
    header.remove_prefix(std::min(header.find(';'), header.size()));
  }
  // The client's cookie is a login card with arbitrary contents, so hide everything after its name.
  const std::size_t card = shown.find(kClients);
  if (card != shown.npos) shown.replace(card + kClients.size(), shown.npos, kHidden);
  return shown;
}

/// Returns VALUE, the value of the variable NAME, without credentials.
std::string loggable(std::string_view name, std::string_view value) {
  if (value.empty()) return {};
  if (name == "HTTP_AUTHORIZATION" || name == "HTTP_PROXY_AUTHORIZATION") {
    return std::string(kHidden);
  }
  return name == "HTTP_COOKIE" ? loggable_cookies(value) : without_credentials(value);
}

std::string_view header_line(std::string_view header, std::string_view name) {
  while (!header.empty()) {
    const std::string_view line = header.substr(0, header.find("\r\n"));
    header.remove_prefix(std::min(header.size(), line.size() + 2));
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos) continue;
    if (std::ranges::equal(line.substr(0, colon), name, {}, ascii_lower, ascii_lower)) {
      return line.substr(colon + 2);
    }
  }
  return {};
}

void put_text(std::string& out, std::string_view text) {
  if (text.empty()) {
    out += '-';
  } else {
    append_printable(out, text, kLongest, "\"");
  }
}

// Suppress the warning that FORMAT is not a literal: FORMAT comes from the configuration.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
void put_time(std::string& out, std::int64_t micros, const std::string& format) {
  const std::time_t whole = micros / kMicros;
  tm local{};
  ::localtime_r(&whole, &local);
  std::array<char, 256> text;
  const std::size_t size = std::strftime(text.data(), text.size(), format.c_str(), &local);
  put_text(out, std::string_view(text.data(), size));
}
#pragma GCC diagnostic pop

template <typename... Args>
void put(std::string& out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

void put_cpu(std::string& out, const AccessRecord& record, char which) {
  std::int64_t used = 0;
  if (which != 's') used += record.cpu_user;
  if (which != 'u') used += record.cpu_system;
  put(out, "{:.2f}", record.duration > 0 ? 100 * seconds(used) / seconds(record.duration) : 0.0);
}

void put_duration(std::string& out, std::int64_t micros, char unit) {
  if (unit == 's') put(out, "{:.3f}", seconds(micros));
  if (unit == 'm') put(out, "{:.3f}", seconds(micros) * 1000);
  if (unit == 'u') put(out, "{}", micros);
}

void put_memory(std::string& out, std::uint64_t bytes, char unit) {
  put(out, "{}", unit == 'b' ? bytes : unit == 'k' ? bytes >> 10 : bytes >> 20);
}

void put_piece(std::string& out, const AccessPiece& piece, const AccessRecord& record) {
  switch (piece.letter) {
    case 0:
      out += piece.text;
      break;
    case 'C':
      return put_cpu(out, record, piece.modifier);
    case 'd':
      return put_duration(out, record.duration, piece.modifier);
    case 'e':
      return put_text(out, loggable(piece.text, variable(record, piece.text)));
    case 'f':
      return put_text(out, record.repository);
    case 'L':
      return put_text(out, record.request_id);
    case 'l':
      return put(out, "{}", record.content_length);
    case 'm':
      return put_text(out, record.method);
    case 'M':
      return put_memory(out, record.memory_peak, piece.modifier);
    case 'n':
      return put_text(out, record.pool);
    case 'o':
      return put_text(out, header_line(record.reply_header, piece.text));
    case 'p':
      return put(out, "{}", record.pid);
    case 'P':
      return put(out, "{}", record.parent);
    case 'q':
      return append_printable(out, record.query, kLongest, "\"");
    case 'Q':
      out += record.query.empty() ? "" : "?";
      break;
    case 'r':
      return put_text(out, record.path);
    case 'R':
      return put_text(out, record.remote_address);
    case 's':
      return put(out, "{}", record.status);
    case 't':
      return put_time(out, record.received, piece.text);
    case 'T':
      return put_time(out, record.written, piece.text);
    case 'u':
      return put_text(out, record.user);
    case 'x':
      return put_text(out, record.operation);
    default:
      break;  // compile() rejects other letters
  }
}

/// Appends a member to OUT. Does not use the JSON library, because it is too slow to use for every
/// request.
void put_json(std::string& out, std::string_view name, std::string_view value) {
  put(out, ",\"{}\":", name);
  if (value.size() <= kLongest) return append_json_string(out, value);
  std::size_t end = kLongest;
  while (end > 0 && (static_cast<unsigned char>(value[end]) & 0xC0) == 0x80) --end;
  append_json_string(out, fmt::format("{}…", value.substr(0, end)));
}

void put_json(std::string& out, std::string_view name, std::integral auto value) {
  put(out, ",\"{}\":{}", name, value);
}

void put_json_object(std::string& out, const AccessRecord& record) {
  put(out, R"({{"time":"{}","written":"{}")", iso_micros(record.received),
      iso_micros(record.written));
  put_json(out, "pool", record.pool);
  put_json(out, "pid", record.pid);
  put_json(out, "parent_pid", record.parent);
  put_json(out, "remote_address", record.remote_address);
  put_json(out, "user", record.user);
  put_json(out, "method", record.method);
  put_json(out, "uri", record.path);
  put_json(out, "query", record.query);
  put_json(out, "status", record.status);
  put_json(out, "content_length", record.content_length);
  put_json(out, "reply_size", record.reply_size);
  put_json(out, "repository", record.repository);
  put_json(out, "operation", record.operation);
  put_json(out, "request_id", record.request_id);
  put_json(out, "duration_us", record.duration);
  put_json(out, "cpu_user_us", record.cpu_user);
  put_json(out, "cpu_system_us", record.cpu_system);
  put_json(out, "memory_peak", record.memory_peak);
  out += '}';
}

}  // namespace

void AccessFormat::render(const AccessRecord& record, std::string& out) const {
  if (is_json_) {
    put_json_object(out, record);
  } else {
    for (const AccessPiece& piece : pieces_) put_piece(out, piece, record);
  }
  out += '\n';
}

}  // namespace quarry::base
