#include "quarry/scoreboard/status.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace quarry::scoreboard;

namespace {

/// A scoreboard with three workers. The first is idle after a push, the second executes a request
/// with TEXT in all fields, and the third has ended.
class World {
 public:
  explicit World(std::string_view text = "") : board_(*Board::create("www", 4)) {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
    PoolState state;
    state.started = 1'000'000'000'000'000;
    state.limits.process_manager.assign("dynamic");
    state.limits.max_children = 4;
    state.limits.min_spare_servers = 1;
    state.limits.max_spare_servers = 3;
    state.children = 2;
    state.past.accepted = state.past.requests = 10;
    state.past.durations[2] = state.past.reply_sizes[0] = 10;
    state.slow_requests = 6;
    board_.publish(state);
    idle();
    busy(text);
  }
  std::string page(std::string_view query) const {
    PoolSnapshot snapshot = take_snapshot(board_, {});
    snapshot.queue = {2, 77};
    snapshot.state.max_listen_queue = 5;
    return status_page(snapshot, parse_status_query(query));
  }

 private:
  void idle() {
    Slot slot = board_.slot(0);
    slot.child_started();
    slot.accepting();
    slot.accepted();
    slot.info({"POST", "/project?a=b", 1234});
    slot.executing("project");
    slot.end({.user = "ann",
              .operation = "push",
              .reply_size = 300,
              .bytes_in = 1234,
              .bytes_out = 300,
              .artifacts_in = 5});
    slot.finished();
    slot.accepting();
  }
  void busy(std::string_view text) {
    Slot slot = board_.slot(1);
    slot.child_started();
    slot.accepted();
    slot.info({text.empty() ? "GET" : text, text.empty() ? "/x" : text, 0});
    slot.executing(text);
  }

  Board board_;
};

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

constexpr std::string_view kPhpFields =
    "pool,process manager,start time,start since,accepted conn,listen queue,max listen queue,"
    "listen queue len,idle processes,active processes,total processes,max active processes,"
    "max children reached,slow requests,";
constexpr std::string_view kPhpProcessFields =
    "pid,state,start time,start since,requests,request duration,request method,request uri,"
    "content length,user,script,last request cpu,last request memory,";

std::string names_of(const nlohmann::ordered_json& object) {
  std::string names;
  for (const auto& item : object.items()) names += item.key() + ",";
  return names;
}

}  // namespace

TEST_CASE("the query chooses the format, with PHP-FPM's precedence") {
  const auto format = [](std::string_view query) { return parse_status_query(query).format; };
  CHECK(format("") == StatusFormat::kText);
  CHECK(format("jsonx&nohtml") == StatusFormat::kText);
  CHECK(format("json") == StatusFormat::kJson);
  CHECK(format("full&json=1") == StatusFormat::kJson);
  CHECK(format("openmetrics&json") == StatusFormat::kJson);
  CHECK(format("json&xml") == StatusFormat::kXml);
  CHECK(format("xml&html&&") == StatusFormat::kHtml);
  CHECK(format("openmetrics") == StatusFormat::kOpenMetrics);
  CHECK(parse_status_query("json&full").is_full);
  CHECK_FALSE(parse_status_query("json&fuller").is_full);
}

TEST_CASE("the text page begins with PHP-FPM's lines in their columns") {
  const std::string page = World().page("full");
  CHECK(
      page.starts_with("pool:                 www\n"
                       "process manager:      dynamic\n"
                       "start time:           09/Sep/2001:01:46:40 +0000\n"
                       "start since:          "));
  CHECK(has(page,
            "\naccepted conn:        12\nlisten queue:         2\nmax listen queue:     5\n"
            "listen queue len:     77\nidle processes:       1\nactive processes:     1\n"
            "total processes:      2\nmax active processes: 1\nmax children reached: 0\n"
            "slow requests:        6\nmax children:         4\n"));
  CHECK(has(page, "\n\n************************\npid:                  " +
                      std::to_string(::getpid()) + "\nstate:                Idle\n"));
  CHECK(has(page,
            "request URI:          /project?a=b\ncontent length:       1234\n"
            "user:                 ann\nscript:               project\n"));
  CHECK_FALSE(has(World().page(""), "pid:"));
}

TEST_CASE("the JSON page has PHP-FPM's names first, in its order, then ours, then the processes") {
  const auto page = nlohmann::ordered_json::parse(World().page("json&full"));
  CHECK(names_of(page).starts_with(kPhpFields));
  CHECK(std::prev(page.end()).key() == "processes");
  CHECK(page["start time"] == 1000000000);
  CHECK(page["max spare servers"] == 3);
  CHECK(page["processes executing"] == 1);
  CHECK(page["processes accepting"] == 1);
  CHECK(page["pushes"] == 1);
  CHECK(page["artifacts in"] == 5);
  CHECK(page["bytes in"] == 1234);
  CHECK(page["bytes out"] == 300);
  CHECK(page["request durations"]["count"] == 11);
  CHECK(page["request durations"]["buckets"]["+Inf"] == 11);
  CHECK(page["reply sizes"]["buckets"]["256"] == 10);
  CHECK(page["reply sizes"]["buckets"]["1024"] == 11);
  CHECK(page["reply sizes"]["sum"] == 300);
  REQUIRE(page["processes"].size() == 2);
  const auto& idle = page["processes"][0];
  CHECK(names_of(idle).starts_with(kPhpProcessFields));
  CHECK(idle["requests"] == 1);
  CHECK(idle["last request memory"] > 0);
  CHECK(page["processes"][1]["state"] == "Running");
  CHECK(page["processes"][1]["last request memory"] == 0);
  CHECK_FALSE(nlohmann::json::parse(World().page("json")).contains("processes"));
}

TEST_CASE("the XML and HTML pages have PHP-FPM's elements") {
  const std::string xml = World().page("xml&full");
  CHECK(
      xml.starts_with("<?xml version=\"1.0\" ?>\n<status>\n<pool>www</pool>\n"
                      "<process-manager>dynamic</process-manager>\n"
                      "<start-time>1000000000</start-time>\n"));
  CHECK(has(xml, "<processes>\n<process><pid>"));
  CHECK(xml.ends_with("</process>\n</processes>\n</status>"));
  const std::string html = World().page("html&full");
  CHECK(has(html, "<tr><th>process manager</th><td>dynamic</td></tr>\n"));
  CHECK(has(html, "<table border=\"1\">\n<tr><th>pid</th><th>state</th>"));
  CHECK(html.ends_with("</table></body></html>"));
  CHECK_FALSE(has(html, "<script"));
}

TEST_CASE("the page for Prometheus has PHP-FPM's metrics, in Prometheus's text format") {
  const std::string page = World().page("openmetrics&full");
  CHECK(has(page, "# TYPE phpfpm_accepted_connections counter\nphpfpm_accepted_connections 12\n"));
  CHECK_FALSE(has(page, "quarry_"));
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    const bool is_line = line.starts_with("# ") || line.starts_with("phpfpm_");
    CHECK(is_line);
  }
}

TEST_CASE("client text cannot break out of its field, in any format") {
  const std::string_view evil = "</pid>\"'&<\n\r\t\xff\x01{}\\,\u202e";
  const World world(evil);
  const std::string xml = world.page("xml&full");
  const std::string html = world.page("html&full");
  for (const std::string& page : {xml, html}) {
    CHECK(has(page, "&lt;/pid&gt;&quot;&#39;&amp;&lt;"));
    CHECK_FALSE(has(page, "\xff"));
    CHECK_FALSE(has(page, "\u202e"));
    CHECK_FALSE(has(page, "\r"));
    CHECK_FALSE(has(page, "\x01"));
  }
  const auto count_lines = [](const std::string& page) {
    return std::count(page.begin(), page.end(), '\n');
  };
  CHECK(count_lines(world.page("full")) == count_lines(World().page("full")));
  const auto json = nlohmann::json::parse(world.page("json&full"));
  CHECK(json["processes"][1]["request method"].get<std::string>().starts_with("</pid>\"'&<\n\r"));
  CHECK_FALSE(has(world.page("openmetrics"), "pid>"));
  CHECK(count_lines(world.page("openmetrics")) == count_lines(World().page("openmetrics")));
}

TEST_CASE("a child without requests shows no time since its last one") {
  Board board = *Board::create("www", 1);
  board.slot(0).child_started();
  const auto page =
      nlohmann::json::parse(status_page(take_snapshot(board, {}), parse_status_query("json&full")));
  CHECK(page["processes"][0]["state"] == "Starting");
  CHECK(page["processes"][0]["request duration"] == 0);
}
