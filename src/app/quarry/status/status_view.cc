#include "status_view.h"

#include <fmt/core.h>

#include <algorithm>

#include "common/table.h"
#include "quarry/base/escape.h"

namespace quarry::app {
namespace {

std::uint64_t micros_since(std::int64_t then, std::int64_t now) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, now - then)) * 1000000;
}

std::string figure(StatusObject object, const char* name) {
  return std::to_string(object.number(name));
}

std::string amount(StatusObject object, const char* name) {
  return short_amount(static_cast<double>(object.number(name)));
}

/// Returns notes on POOL that do not have a column.
std::string note_of(StatusObject pool, std::int64_t now) {
  std::string note;
  const auto add = [&](const std::string& more) { note += (note.empty() ? "" : "; ") + more; };
  if (const std::int64_t next = pool.instant("next start"); next > 0) {
    add(fmt::format("restart in {}: {}", short_time(micros_since(now, next)),
                    pool.text("backoff reason")));
  }
  if (const auto held_back = pool.number("children held back"); held_back > 0) {
    add(fmt::format("{} held back by process.max", held_back));
  }
  if (const auto count = pool.number("children of earlier generations"); count > 0) {
    add(fmt::format("{} of earlier generations", count));
  }
  if (const auto unreadable = pool.number("unreadable slots"); unreadable > 0) {
    add(fmt::format("{} unreadable slots", unreadable));
  }
  return note;
}

std::string children_of(StatusObject pool) {
  return fmt::format("{}/{}", pool.number("children"), pool.number("max children"));
}

std::string tenths(double value) {
  return fmt::format("{:.1f}", value);
}

/// Returns TABLE with a row for each service that has an object NAME, or an empty list if no
/// service has one. ROW returns the cells of a service.
template <typename Row>
Lines service_lines(StatusObject server, const char* name, Table table, Row row) {
  bool has_any = false;
  for (const StatusObject service : server.list("services")) {
    if (!service.member(name).is_object()) continue;
    has_any = true;
    table.add(row(service, StatusObject(service.member(name))));
  }
  return has_any ? table.lines() : Lines();
}

/// A pool's activity between two samples.
struct Activity {
  StatusObject pool;
  std::optional<StatusObject> before;
  double seconds = 0;

  double rate(const char* name) const {
    return before ? rate_between(*before, pool, name, seconds) : 0;
  }
  double weight(Order order) const {
    if (order == Order::kBytes) return rate("bytes in") + rate("bytes out");
    if (order == Order::kActive) return static_cast<double>(pool.number("active processes"));
    return order == Order::kRequests ? rate("requests") : 0;
  }
};

std::vector<Activity> activities(const std::optional<StatusSample>& before,
                                 const StatusSample& after, Order order) {
  std::vector<Activity> found;
  for (const StatusDocument& pool : StatusObject(after.server).list("pools")) {
    found.push_back({.pool = pool, .before = {}});
    if (!before) continue;
    found.back().seconds = after.at - before->at;
    const std::string name = found.back().pool.text("pool");
    for (const StatusDocument& one : StatusObject(before->server).list("pools")) {
      if (StatusObject(one).text("pool") == name) found.back().before = one;
    }
  }
  std::ranges::sort(found, [&](const Activity& one, const Activity& other) {
    if (one.weight(order) != other.weight(order)) return one.weight(order) > other.weight(order);
    return one.pool.text("pool") < other.pool.text("pool");
  });
  return found;
}

Lines work_lines(StatusObject server) {
  std::vector<std::pair<StatusObject, StatusObject>> busy;
  for (const StatusDocument& pool : server.list("pools")) {
    for (const StatusDocument& child : StatusObject(pool).list("processes")) {
      if (StatusObject(child).text("state") != "Idle") busy.emplace_back(pool, child);
    }
  }
  std::ranges::sort(busy, std::ranges::greater{},
                    [](const auto& each) { return each.second.number("request duration"); });
  Table table({">PID", "POOL", "STATE", ">TIME", "METHOD", "URI", "USER", "REPOSITORY"});
  for (const auto& [pool, child] : busy) {
    table.add({figure(child, "pid"), pool.text("pool"), child.text("state"),
               short_time(child.number("request duration")), child.text("request method"),
               child.text("request uri"), child.text("user"), child.text("script")});
  }
  return table.lines();
}

}  // namespace

Result<StatusDocument> parse_status(const std::string& text) {
  StatusDocument document = StatusDocument::parse(text, nullptr, false);
  if (document.contains("error")) {
    return fail(ErrorCode::kDenied, "quarryd says: {}",
                base::printable_message(StatusObject(document).text("error")));
  }
  if (document.contains("pools")) return document;
  return fail(ErrorCode::kInvalid, "the reply is not a quarryd status");
}

const StatusDocument& StatusObject::member(const char* name) const {
  static const StatusDocument none;
  const auto at = object_->find(name);
  return at == object_->end() ? none : *at;
}

const StatusDocument& StatusObject::list(const char* name) const {
  static const StatusDocument none = StatusDocument::array();
  const StatusDocument& found = member(name);
  return found.is_array() ? found : none;
}

std::uint64_t StatusObject::number(const char* name) const {
  const StatusDocument& found = member(name);
  return found.is_number_unsigned() ? found.get<std::uint64_t>() : 0;
}

std::int64_t StatusObject::instant(const char* name) const {
  constexpr std::uint64_t kLast = 1'000'000'000'000;
  return static_cast<std::int64_t>(std::min(number(name), kLast));
}

double StatusObject::fraction(const char* name) const {
  const StatusDocument& found = member(name);
  return found.is_number() ? found.get<double>() : 0;
}

std::string StatusObject::text(const char* name) const {
  const StatusDocument& found = member(name);
  return found.is_string() ? found.get<std::string>() : std::string();
}

std::string pool_of_service(StatusObject service) {
  const std::string name = service.text("service");
  return name.substr(name.find(' ') + 1);
}

double rate_between(StatusObject before, StatusObject after, const char* name, double seconds) {
  if (seconds <= 0) return 0;
  const bool is_anew = before.instant("start time") != after.instant("start time");
  const std::uint64_t last = is_anew ? 0 : before.number(name);
  const std::uint64_t now = after.number(name);
  return now <= last ? 0 : static_cast<double>(now - last) / seconds;
}

Lines server_lines(StatusObject server, std::int64_t now) {
  Lines lines = {fmt::format("quarryd {}, process {}, {} for {}, generation {} for {}, {}",
                             base::printable(server.text("version")), server.number("pid"),
                             base::printable(server.text("state")),
                             short_time(micros_since(server.instant("start time"), now)),
                             server.number("generation"),
                             short_time(micros_since(server.instant("generation start time"), now)),
                             base::printable(server.text("config")))};
  if (const auto& children = server.list("previous generation"); !children.empty()) {
    lines.push_back(
        fmt::format("children of earlier generations still finishing: {}", children.size()));
  }
  for (const StatusObject service : server.list("services")) {
    const std::string failure = service.text("failure");
    if (failure.empty()) continue;
    lines.push_back(fmt::format("[{}] cannot start: {}; see the log",
                                base::printable(service.text("service")),
                                base::printable_message(failure)));
  }
  if (const auto crashes = server.number("crashes"); crashes > 0) {
    lines.push_back(fmt::format("recent crashes: {} (after {} crashes, all children are replaced)",
                                crashes, server.number("emergency restart threshold")));
  }
  const auto add_lost = [&](const std::string& log, std::uint64_t lost) {
    if (lost > 0) lines.push_back(fmt::format("lost lines of the {}: {}", log, lost));
  };
  add_lost("error log", server.number("lost log lines"));
  for (const StatusObject pool : server.list("pools")) {
    add_lost(fmt::format("access log of pool {}", base::printable(pool.text("pool"))),
             pool.number("lost access log lines"));
  }
  return lines;
}

Lines pool_lines(StatusObject server, std::int64_t now) {
  Table table({"POOL", "PM", ">CHILDREN", ">ACTIVE", ">IDLE", ">MAX", ">QUEUE", ">REQUESTS",
               ">REFUSED", ">SLOW", ">FULL", "NOTE"});
  for (const StatusObject pool : server.list("pools")) {
    table.add({pool.text("pool"), pool.text("process manager"), children_of(pool),
               figure(pool, "active processes"), figure(pool, "idle processes"),
               figure(pool, "max active processes"), figure(pool, "listen queue"),
               figure(pool, "requests"), figure(pool, "refusals"), figure(pool, "slow requests"),
               figure(pool, "max children reached"), note_of(pool, now)});
  }
  return table.lines();
}

Lines job_lines(StatusObject server) {
  const Table table({"SERVICE", ">RUNNING", ">WAITING", ">PAUSED", ">STARTED", ">FAILED",
                     ">DELAYED", ">HELD BACK"});
  return service_lines(server, "jobs", table, [](StatusObject service, StatusObject jobs) {
    return Lines{service.text("service"), figure(jobs, "running"),  figure(jobs, "waiting"),
                 figure(jobs, "paused"),  figure(jobs, "started"),  figure(jobs, "failed"),
                 figure(jobs, "delayed"), figure(jobs, "held back")};
  });
}

Lines pages_lines(StatusObject server) {
  const Table table({"SERVICE", "PROGRAM", ">RUNNING", ">WAITING", ">MADE", ">CACHED", ">SHARED",
                     ">REFUSED", ">FAILED", ">CACHE SIZE"});
  return service_lines(server, "pages", table, [](StatusObject service, StatusObject pages) {
    return Lines{service.text("service"),    pages.text("about"),      figure(pages, "running"),
                 figure(pages, "waiting"),   figure(pages, "made"),    figure(pages, "from cache"),
                 figure(pages, "shared"),    figure(pages, "refused"), figure(pages, "failed"),
                 amount(pages, "cache size")};
  });
}

Lines log_lines(StatusObject server) {
  const Table table(
      {"SERVICE", ">IN MEMORY", ">ON DISK", ">DELIVERED", ">REJECTED", ">LOST", "LAST ERROR"});
  return service_lines(server, "log delivery", table, [](StatusObject service, StatusObject logs) {
    return Lines{service.text("service"),
                 figure(logs, "in memory"),
                 figure(logs, "on disk"),
                 figure(logs, "delivered"),
                 figure(logs, "rejected"),
                 figure(logs, "lost"),
                 base::printable_message(logs.text("about"))};
  });
}

Lines child_lines(StatusObject pool) {
  Table table({">PID", ">GEN", "STATE", ">TIME", ">REQUESTS", ">CPU%", ">MEMORY", "METHOD", "URI",
               "USER", "REPOSITORY"});
  for (const StatusObject child : pool.list("processes")) {
    table.add({figure(child, "pid"), figure(child, "generation"), child.text("state"),
               short_time(child.number("request duration")), figure(child, "requests"),
               tenths(child.fraction("last request cpu")), amount(child, "last request memory"),
               child.text("request method"), child.text("request uri"), child.text("user"),
               child.text("script")});
  }
  return table.lines();
}

Lines activity_lines(const std::optional<StatusSample>& before, const StatusSample& after,
                     Order order, std::int64_t now) {
  Table table({"POOL", ">CHILDREN", ">ACTIVE", ">QUEUE", ">REQ/S", ">CLONE/S", ">PULL/S", ">PUSH/S",
               ">SYNC/S", ">IN/S", ">OUT/S", "NOTE"});
  for (const Activity& one : activities(before, after, order)) {
    table.add({one.pool.text("pool"), children_of(one.pool), figure(one.pool, "active processes"),
               figure(one.pool, "listen queue"), tenths(one.rate("requests")),
               tenths(one.rate("clones")), tenths(one.rate("pulls")), tenths(one.rate("pushes")),
               tenths(one.rate("syncs")), short_amount(one.rate("bytes in")),
               short_amount(one.rate("bytes out")), note_of(one.pool, now)});
  }
  Lines lines = table.lines();
  const Lines work = work_lines(after.server);
  lines.emplace_back();
  lines.insert(lines.end(), work.begin(), work.end());
  return lines;
}

}  // namespace quarry::app
