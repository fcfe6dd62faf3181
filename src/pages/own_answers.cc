// What the process answers by itself, without a page: told to the log, and to the pool's status page.
#include <fmt/core.h>

#include <string>
#include <utility>

#include "quarry/base/log.h"
#include "quarry/http/parameters.h"
#include "quarry/http/status.h"
#include "quarry/http/web_page.h"
#include "server.h"

namespace quarry::pages {
namespace {

using base::LogLevel;

int status_of(FossilRun::Fault fault) {
  return fault == FossilRun::Fault::kTimeout ? 504 : 502;
}

}  // namespace

void Server::note_refusal(const PageRequest& request, int status, std::string_view text) {
  // What scanners ask for in vain is of no interest, as of what workers answer.
  if (handles_.refusals == nullptr || status == 404) return;
  scoreboard::Refusal refusal;
  refusal.status = static_cast<std::uint32_t>(status);
  refusal.text.assign(text);
  const std::string_view uri = request.get(http::parameter::kRequestUri);
  refusal.of_request(request.get(http::parameter::kRequestMethod),
                     uri.empty() ? request.path() : uri);
  handles_.refusals->note(refusal);
}

void Server::answer(Visit& visit, int status, std::string_view text, std::string_view headers) {
  base::log(status < 500 ? LogLevel::kNotice : LogLevel::kWarning, "{}: {} {}",
            visit.request().in_words(), status, text);
  note_refusal(visit.request(), status, text);
  const bool is_page = http::prefers_html(visit.request().get("HTTP_ACCEPT"));
  const std::string page =
      is_page ? http::error_page(status, text)
              : fmt::format("{} {}: {}\n", status, http::reason_phrase(status), text);
  visit.begin(status,
              fmt::format("Status: {} {}\r\nContent-Type: {}\r\n{}{}Content-Length: {}\r\n\r\n",
                          status, http::reason_phrase(status),
                          is_page ? http::kPageType : "text/plain; charset=utf-8",
                          is_page ? http::web_page_headers() : "Cache-Control: no-store\r\n",
                          headers, page.size()));
  if (!visit.request().is_head()) visit.add(page);
  visit.end();
}

void Server::refuse(Waiting waiting, int status, std::string_view text, std::string_view headers) {
  if (!waiting.shared) return answer(*waiting.visit, status, text, headers);
  shared_.erase(waiting.shared->key);
  for (Visit* const visit : waiting.shared->visits) answer(*visit, status, text, headers);
}

void Server::on_fault(FossilRun& run, FossilRun::Fault fault, const std::string& reason) {
  ++handles_.figures.failed;
  Running& running = runs_.at(&run);
  base::log(LogLevel::kWarning, "{}: {}: {}", running.request, options_.program, reason);
  const int status = status_of(fault);
  const std::string_view text =
      status == 504 ? "the page takes too long to make" : "the page could not be made";
  if (running.shared) return refuse({.shared = std::move(running.shared)}, status, text);
  Visit* const visit = std::exchange(running.visit, nullptr);
  if (visit == nullptr) return;
  Visiting& visiting = visits_.at(visit);
  visiting.run = nullptr;
  if (visiting.has_head) return break_off(*visit);
  answer(*visit, status, text);
}

void Server::break_off(Visit& visit) {
  log_access(visit);
  // Without the record that ends a reply, the web server knows that some of it is missing.
  visits_.erase(&visit);
  if (!is_stopping_) taking_.wait();
}

}  // namespace quarry::pages
