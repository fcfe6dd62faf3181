// Replies of the process itself, without fossil. Such replies are logged, and recorded for the
// pool's status page.
#include <fmt/core.h>

#include <chrono>
#include <string>
#include <utility>

#include "quarry/base/log.h"
#include "quarry/base/log_request.h"
#include "quarry/http/parameters.h"
#include "quarry/http/status.h"
#include "quarry/http/web_page.h"
#include "server.h"

namespace quarry::pages {
namespace {

using base::LogLevel;

/// As in the workers, 404 has a low log level.
LogLevel level_of(int status) {
  if (status >= 500) return LogLevel::kWarning;
  return status == 404 ? LogLevel::kDebug : LogLevel::kNotice;
}

/// Returns the reply to a failed login in fossil's JSON API. TEXT is our own, so it is not escaped.
std::string json_reply(std::string_view text) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return fmt::format(R"({{"timestamp":{},"resultCode":"FOSSIL-2100","resultText":"{}"}})",
                     std::chrono::duration_cast<std::chrono::seconds>(now).count(), text);
}

http::ErrorPlace place_of(const PageRequest& request, const ServedRepositories& served) {
  const bool is_https = http::parameter::is_https(request.get(http::parameter::kHttps));
  return {.asked = request.path(),
          .base = http::base_url(is_https, request.get(http::parameter::kHost),
                                 request.get(http::parameter::kScriptName),
                                 request.get(http::parameter::kPathInfo)),
          .kind = http::place_kind(!served.repository.empty(), served.has_index)};
}

}  // namespace

void Server::record_refusal(const PageRequest& request, const Refusal& refusal) {
  // As in the workers, 404s are not recorded, because most of them are caused by scanners.
  if (handles_.refusals == nullptr || refusal.status == 404) return;
  scoreboard::Refusal noted;
  noted.status = static_cast<std::uint32_t>(refusal.status);
  noted.text.assign(refusal.text);
  noted.of_request(request.get(http::parameter::kRequestMethod), request.target());
  handles_.refusals->note(noted);
}

void Server::answer(PageConnection& connection, const Refusal& refusal, bool is_json) {
  const PageRequest& request = connection.request();
  const std::string line = refusal.in_log.empty() ? fmt::format("{}: {} {}", request.in_words(),
                                                                refusal.status, refusal.text)
                                                  : refusal.in_log;
  const base::LogRequest logged(std::string(request.get(http::parameter::kRequestId)));
  if (refusal.status == 503) {
    overload_log_.warn(line);
  } else {
    base::log(level_of(refusal.status), "{}", line);
  }
  record_refusal(request, refusal);
  const std::string_view reason = http::reason_phrase(refusal.status);
  const bool is_page = !is_json && http::prefers_html(request.get("HTTP_ACCEPT"));
  const std::string body =
      is_json   ? json_reply(refusal.text)
      : is_page ? http::error_page(refusal.status, refusal.text, place_of(request, served_))
                : fmt::format("{} {}: {}\n", refusal.status, reason, refusal.text);
  const std::string_view type = is_json   ? "application/json; charset=utf-8"
                                : is_page ? http::kPageType
                                          : "text/plain; charset=utf-8";
  connection.begin(
      refusal.status,
      fmt::format("Status: {} {}\r\nContent-Type: {}\r\n{}{}Content-Length: {}\r\n\r\n",
                  refusal.status, reason, type,
                  is_page ? http::web_page_headers() : "Cache-Control: no-store\r\n",
                  refusal.headers, body.size()));
  if (!request.is_head()) connection.add(body);
  connection.end();
}

void Server::refuse(Waiting waiting, const Refusal& refusal) {
  if (!waiting.shared) {
    const bool is_json = waiting.target && waiting.target->page == "json";
    return answer(*waiting.connection, refusal, is_json);
  }
  shared_.erase(waiting.shared->key);
  for (PageConnection* const connection : waiting.shared->connections) answer(*connection, refusal);
}

void Server::on_fault(FossilRun& run, FossilRun::Fault fault, const std::string& reason) {
  ++figures_.counters().failed;
  Running& running = runs_.at(&run);
  const base::LogRequest logged(running.request_id);
  base::log(LogLevel::kWarning, "{}: {}: {}", running.request, options_.program, reason);
  if (running.login) running.login->on_fault();
  const bool is_late = fault == FossilRun::Fault::kTimeout;
  const Refusal refusal = is_late ? Refusal{504, "the page took too long to generate"}
                                  : Refusal{502, "the page could not be generated"};
  if (running.shared) return refuse({.shared = std::move(running.shared)}, refusal);
  PageConnection* const connection = std::exchange(running.connection, nullptr);
  if (connection == nullptr) return;
  ConnectionState& state = connections_.at(connection);
  state.run = nullptr;
  // If the reply has already begun, close the connection without an END_REQUEST record, so that the
  // web server treats the reply as incomplete.
  if (state.has_head) return on_gone(*connection);
  answer(*connection, refusal);
}

}  // namespace quarry::pages
