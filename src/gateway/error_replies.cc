// Replies that the front itself makes. These replies are recorded in the log and on the pool's
// status page. Connections that fail before a request are only logged.
#include <event2/buffer.h>
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

#include "quarry/base/log.h"
#include "quarry/base/log_request.h"
#include "quarry/http/request_id.h"
#include "quarry/http/status.h"
#include "quarry/http/syntax.h"
#include "quarry/http/web_page.h"
#include "server.h"

namespace quarry::gateway {
namespace {

using base::LogLevel;

/// Returns the level for STATUS. Errors that only the client has caused are not important for an
/// operator.
LogLevel level_of(int status) {
  const bool is_clients = status < 500 || status == 501 || status == 505;
  return is_clients ? LogLevel::kNotice : LogLevel::kWarning;
}

/// Returns the refusal of the request that starts with LINE, which is "METHOD TARGET VERSION" or
/// the beginning of that text. Leaves out a target that does not begin with "/", because such a
/// target might contain a password.
scoreboard::Refusal refusal_of(int status, std::string_view line, std::string_view text) {
  scoreboard::Refusal refusal;
  refusal.status = static_cast<std::uint32_t>(status);
  refusal.text.assign(text);
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view method = line.substr(0, end);
  if (!http::is_token(method)) return refusal;
  std::string_view target = line.substr(std::min(end + 1, line.size()));
  target = target.substr(0, target.find(' '));
  refusal.of_request(method, target.starts_with('/') ? target : "");
  return refusal;
}

}  // namespace

void Server::record_refusal(const Connection& connection, int status, std::string_view text) {
  if (!options_.refusals) return;
  options_.refusals->note(refusal_of(status, connection.first_line(), text));
}

void Server::on_failed(const Connection& connection, std::string_view reason) {
  const auto peer = connection.peer();
  // Use a separate rate limit for proxies, so that clients cannot suppress messages about a proxy.
  auto& log =
      peer && options_.trusted_proxies.contains(*peer) ? failed_proxies_log_ : failed_clients_log_;
  log.write(LogLevel::kNotice, fmt::format("client {}: {}", connection.client(), reason));
}

void Server::on_refused(Connection& connection, const http::Refusal& refusal, bool is_logged) {
  record_refusal(connection, refusal.status, refusal.text);
  if (!is_logged) return;
  const base::LogRequest logged(connection.request_id());
  base::log(level_of(refusal.status), "client {}: {} {}", connection.client(), refusal.status,
            refusal.text);
}

void Server::answer_error(Exchange& exchange, int status, std::string_view text,
                          std::string_view reason) {
  const base::LogRequest logged(exchange.id);
  base::log(level_of(status), "client {}: {} {}: {}{}{}", exchange.client.address, status,
            exchange.request, text, reason.empty() ? "" : ": ", reason);
  answer_page(exchange, status, text);
}

void Server::answer_page(Exchange& exchange, int status, std::string_view text) {
  record_refusal(*exchange.connection, status, text);
  const std::string_view phrase = http::reason_phrase(status);
  const bool is_page = exchange.connection->wants_page();
  const std::string page = is_page ? http::error_page(status, text, {.kind = options_.place})
                                   : fmt::format("{} {}: {}\n", status, phrase, text);
  const base::EventBufferPtr body(evbuffer_new());
  if (body) evbuffer_add(body.get(), page.data(), page.size());
  http::HeaderFields fields = is_page ? http::web_page_fields() : http::HeaderFields();
  fields.emplace_back("Content-Type", is_page ? http::kPageType : "text/plain; charset=utf-8");
  fields.emplace_back(http::kRequestIdHeader, exchange.id);
  exchange.connection->reply({.status = status,
                              .reason = std::string(phrase),
                              .fields = std::move(fields),
                              .content_length = page.size()},
                             body.get(), stopping_);
}

}  // namespace quarry::gateway
