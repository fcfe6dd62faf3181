#include "quarry/pages/live_page.h"

#include <doctest/doctest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

using namespace quarry;
using nlohmann::json;
using pages::LivePart;
using scoreboard::PoolSnapshot;
using scoreboard::Stage;

namespace {

constexpr pid_t kSelf = 1'000'000;

/// A pool of CHILDREN, all at work for clients who say what TEXT is.
PoolSnapshot busy(std::size_t children, const std::string& text) {
  PoolSnapshot snapshot;
  snapshot.pool = "www";
  snapshot.monotonic_now = 5'000'000'000'000;
  snapshot.state.generation = 2;
  snapshot.active = children;
  snapshot.queue = base::QueueLength{.waiting = 3, .limit = 511};
  for (std::size_t i = 0; i < children; ++i) {
    scoreboard::SlotState child;
    child.stage = Stage::kExecuting;
    child.pid = static_cast<std::uint32_t>(kSelf + static_cast<pid_t>(i));
    child.generation = i % 2 + 1;
    child.stage_since = static_cast<std::int64_t>(i);
    child.request_started = static_cast<std::int64_t>(children - i) * 1000;
    child.user.assign(text);
    child.operation.assign(text);
    child.repository.assign(text);
    child.method.assign(text);
    child.uri.assign(text);
    child.doing.assign(text);
    snapshot.processes.push_back(child);
  }
  snapshot.totals.requests = 1'000'000'000'000;
  return snapshot;
}

}  // namespace

TEST_CASE("the query asks for the live page, its document, or neither") {
  CHECK(pages::live_part_of("live") == LivePart::kPage);
  CHECK(pages::live_part_of("live=1&full") == LivePart::kPage);
  CHECK(pages::live_part_of("live&json") == LivePart::kDocument);
  CHECK(pages::live_part_of("json&live") == LivePart::kDocument);
  for (const char* query : {"", "json", "html&full", "alive", "json=live", "Live"}) {
    CAPTURE(query);
    CHECK_FALSE(pages::live_part_of(query));
  }
}

TEST_CASE("500 children and whatever their clients say fit into 30 kB") {
  CHECK(pages::live_page().size() < 30'000);
  for (const char* text : {"GET", "\x01", "\\", "\"", "\xC3\xA4", "\xFF"}) {
    CAPTURE(text);
    std::string often;
    while (often.size() < 256) often += text;
    const auto figures = pages::Figures::make_shared();
    REQUIRE(figures);
    const std::string document = pages::live_document(busy(500, often), figures->get(), kSelf);
    CHECK(document.size() < 30'000);
    CHECK(json::accept(document));
  }
}

TEST_CASE("the document tells each child's stage, and the longest requests but its own") {
  PoolSnapshot snapshot = busy(40, "x");
  snapshot.processes[1].stage = Stage::kAccepting;
  snapshot.processes[39].user.assign("last");
  const json document = json::parse(pages::live_document(snapshot, nullptr, kSelf));
  CHECK(document["stages"] == "51" + std::string(38, '5'));
  CHECK(document["pids"][39] == kSelf + 39);
  CHECK(document["old"].size() == 20);
  CHECK(document["old"][0] == 0);
  CHECK(document["requests"].size() == 15);
  CHECK(document["requests"][0]["user"] == "last");  // began first
  CHECK(document["more"] == 40 - 15 - 2);  // of those at work, but for the one that answers
  CHECK(document["queue"] == 3);
  CHECK(document["backlog"] == 511);
  CHECK(document["note"] == "");
  CHECK_FALSE(document["totals"].contains("pages made"));
}

TEST_CASE("the document tells what an operator should know at once") {
  PoolSnapshot snapshot = busy(1, "x");
  snapshot.queue.reset();
  snapshot.state.held_back = 3;
  const auto figures = *pages::Figures::make_shared();
  figures->made = 7;
  figures->set_version("2.21");
  json document = json::parse(pages::live_document(snapshot, figures.get(), kSelf));
  CHECK(document["note"] == "process.max keeps 3 children from being started.");
  CHECK(document["queue"].is_null());
  CHECK(document["totals"]["pages made"] == 7);
  CHECK(document["totals"]["pages by"] == "fossil 2.21");
  snapshot.state.next_start = 1;
  snapshot.state.backoff_reason.assign("signal 11");
  document = json::parse(pages::live_document(snapshot, figures.get(), kSelf));
  CHECK(document["note"].get<std::string>().ends_with("more slowly: signal 11"));
}
