// Replies that the process makes without fossil; logged, and recorded for the pool's status page.
#include <fmt/core.h>

#include <string>
#include <utility>

#include "quarry/base/log.h"
#include "quarry/http/parameters.h"
#include "server.h"

namespace quarry::pages {

using base::LogLevel;

void Server::note_refusal(const PageRequest& request, const Refusal& refusal) {
  // As with workers, 404s are left out: they are mostly scanners.
  if (handles_.refusals == nullptr || refusal.status == 404) return;
  scoreboard::Refusal noted;
  noted.status = static_cast<std::uint32_t>(refusal.status);
  noted.text.assign(refusal.text);
  noted.of_request(request.get(http::parameter::kRequestMethod), request.target());
  handles_.refusals->note(noted);
}

void Server::answer(PageConnection& connection, const Refusal& refusal, bool is_json) {
  const PageRequest& request = connection.request();
  base::log(refusal.status < 500 ? LogLevel::kNotice : LogLevel::kWarning, "{}",
            refusal.in_log.empty()
                ? fmt::format("{}: {} {}", request.in_words(), refusal.status, refusal.text)
                : refusal.in_log);
  note_refusal(request, refusal);
  const OwnReply reply = own_reply(refusal, request, is_json);
  connection.begin(refusal.status, reply.head);
  connection.add(reply.body);
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
  ++handles_.figures.failed;
  Running& running = runs_.at(&run);
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
  // Without an END_REQUEST record, the web server knows that the reply is incomplete.
  if (state.has_head) return on_gone(*connection);
  answer(*connection, refusal);
}

}  // namespace quarry::pages
