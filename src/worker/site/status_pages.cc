#include "status_pages.h"

#include <fmt/core.h>
#include <unistd.h>

#include "quarry/base/number.h"
#include "quarry/control/replica_state.h"
#include "quarry/http/form.h"
#include "quarry/http/web_page.h"
#include "quarry/pages/live_page.h"
#include "quarry/scoreboard/status.h"

namespace quarry::worker {
namespace {

// As in PHP-FPM, these pages must not be cached, because they show the current state.
constexpr std::string_view kNoCache =
    "Expires: Thu, 01 Jan 1970 00:00:00 GMT\r\n"
    "Cache-Control: no-cache, no-store, must-revalidate, max-age=0\r\n";

Reply page(std::string_view content_type, std::string body) {
  Reply reply;
  reply.content_type = content_type;
  reply.headers = kNoCache;
  reply.body = std::move(body);
  return reply;
}

bool leads_to(const Request& request, std::string_view path) {
  return !path.empty() && request.path() == path;
}

}  // namespace

bool StatusPages::is_one(const Request& request) const {
  if (request.method != "GET" && request.method != "HEAD") return false;
  return leads_to(request, options_.status_path) || leads_to(request, options_.ping_path);
}

std::optional<Reply> StatusPages::answer(const Request& request, scoreboard::Slot& slot) const {
  if (!is_one(request)) return std::nullopt;
  slot.executing("");
  if (leads_to(request, options_.status_path)) {
    Reply reply = status(request);
    reply.operation = "status";
    return reply;
  }
  return ping(request);
}

Reply StatusPages::ping(const Request& request) const {
  std::string obstacle;
  const std::string max_lag = http::form_value(request.query, "max_lag").value_or("?");
  if (!max_lag.empty()) {
    const auto seconds = base::parse_number<std::uint32_t>(max_lag);
    if (!seconds) return text_reply(400, "max_lag is not a number of seconds");
    if (!options_.replica_state.empty()) {
      const auto state = control::ReplicaState::read(options_.replica_state);
      obstacle = state.reason;
      if (obstacle.empty() && state.lag > std::chrono::seconds(*seconds)) {
        obstacle = fmt::format("this host lags {} seconds behind the other hosts",
                               std::chrono::duration_cast<std::chrono::seconds>(state.lag).count());
      }
    }
  }
  Reply reply = page("text/plain;charset=UTF-8", options_.ping_response);
  if (!obstacle.empty()) {
    reply.status = 503;
    reply.body = obstacle + "\n";
  }
  return reply;
}

Reply StatusPages::status(const Request& request) const {
  const auto live = pages::live_part_of(request.query);
  const bool has_all = static_cast<bool>(options_.sources.pools);
  if (live && live->is_of_all && !has_all) {
    return text_reply(403, "this page shows only its own pool: pm.status_all is off");
  }
  if (live && !live->is_document) {
    Reply reply;
    reply.content_type = http::kPageType;
    reply.headers = pages::live_page_headers(live->is_of_all);
    reply.body = pages::live_page(live->is_of_all, has_all);
    return reply;
  }
  if (live && live->is_of_all) {
    return page("application/json",
                pages::live_document_of_all(
                    options_.sources, {scoreboard::monotonic_micros(), scoreboard::wall_micros()}));
  }
  auto snapshot = scoreboard::take_snapshot(board_, queue_);
  snapshot.pool = options_.pool;
  if (live) {
    return page("application/json",
                pages::live_document(snapshot, options_.pages.get(), options_.sources, ::getpid()));
  }
  const auto wanted = scoreboard::parse_status_query(request.query);
  return page(scoreboard::content_type_of(wanted.format),
              scoreboard::status_page(snapshot, wanted));
}

Reply StatusServer::answer(const Request& request, BodyReader& /*body*/, scoreboard::Slot& slot) {
  if (auto page = pages_.answer(request, slot)) return std::move(*page);
  return text_reply(404, "only the status page is served here");
}

}  // namespace quarry::worker
