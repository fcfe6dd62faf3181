#include "request.h"

#include <fmt/core.h>
#include <libdeflate.h>

#include <memory>
#include <utility>

#include "quarry/http/status.h"
#include "quarry/sync/request.h"

namespace quarry::worker {

std::string_view Request::variable(std::string_view name) const {
  for (const char* const* entry = variables; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.size() > name.size() && text[name.size()] == '=' && text.starts_with(name)) {
      return text.substr(name.size() + 1);
    }
  }
  return {};
}

std::string header_of(const Reply& reply) {
  std::string header =
      fmt::format("Status: {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n", reply.status,
                  http::reason_phrase(reply.status), reply.content_type, reply.body.size());
  if (!reply.allow.empty()) header += fmt::format("Allow: {}\r\n", reply.allow);
  header += reply.headers;
  header += "X-Content-Type-Options: nosniff\r\n\r\n";
  return header;
}

Reply text_reply(int status, std::string_view text) {
  Reply reply;
  reply.status = status;
  reply.body = text;
  reply.body += '\n';
  if (status >= 400) reply.error = text;
  return reply;
}

Reply for_browser(const Request& request, Reply reply, const http::ErrorPlace& place) {
  const bool is_page = reply.status >= 400 && reply.content_type.starts_with("text/plain") &&
                       !sync::is_sync_content_type(request.content_type) &&
                       http::prefers_html(request.variable("HTTP_ACCEPT"));
  if (!is_page) return reply;
  std::string_view text = reply.body;
  while (text.ends_with('\n')) text.remove_suffix(1);
  reply.body = http::error_page(reply.status, text, place);
  reply.content_type = http::kPageType;
  for (const auto& [name, value] : http::web_page_fields()) {
    if (!reply.headers.contains(name + ": ")) reply.headers += name + ": " + value + "\r\n";
  }
  return reply;
}

void compress_page(const Request& request, Reply& reply) {
  if (!reply.content_type.starts_with("text/html")) return;
  reply.headers += "Vary: Accept-Encoding\r\n";
  if (!http::takes_gzip(request.variable("HTTP_ACCEPT_ENCODING"))) return;
  constexpr int kLevel = 6;
  const std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)> compressor(
      libdeflate_alloc_compressor(kLevel), &libdeflate_free_compressor);
  if (!compressor) return;
  const std::string& page = reply.body;
  std::string compressed(libdeflate_gzip_compress_bound(compressor.get(), page.size()), '\0');
  compressed.resize(libdeflate_gzip_compress(compressor.get(), page.data(), page.size(),
                                             compressed.data(), compressed.size()));
  reply.body = std::move(compressed);
  reply.headers += "Content-Encoding: gzip\r\n";
}

}  // namespace quarry::worker
