#include "quarry/pages/live_page.h"

#include <doctest/doctest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using namespace quarry;
using nlohmann::json;
using pages::LivePart;
using scoreboard::PoolSnapshot;
using scoreboard::Stage;

namespace {

constexpr pid_t kSelf = 1'000'000;
const pages::ServerSources kNoSources;

/// Repeats TEXT until the result is at least 256 bytes long.
std::string repeated(const std::string& text) {
  std::string often;
  while (often.size() < 256) often += text;
  return often;
}

/// Returns more refusals than the page shows, with TEXT in all fields.
std::vector<scoreboard::Refusal> full_refusals(const std::string& text) {
  scoreboard::Refusal refusal{.at = 1, .status = 500, .times = 1'000'000'000'000};
  refusal.of_request(text, text);
  refusal.uri.assign(text);
  refusal.text.assign(text);
  std::vector<scoreboard::Refusal> all(32, refusal);
  for (std::size_t i = 0; i < all.size(); i += 2) all[i].by = scoreboard::Refuser::kPages;
  return all;
}

std::shared_ptr<scoreboard::RefusalTally> full_tally(scoreboard::Refuser by,
                                                     const std::string& text) {
  const auto tally = *scoreboard::RefusalTally::create(by);
  REQUIRE(tally->begin());
  for (auto each : full_refusals(text)) {
    each.status = 400 + static_cast<std::uint32_t>(tally->read().size());
    tally->note(each);
  }
  return tally;
}

/// Returns POOLS pools with the name NAME and with change sets in all states.
std::vector<pages::PoolQueues> full_queues(std::size_t pools, const std::string& name) {
  pages::QueuesView view{.queues = 1000, .is_cut = true};
  for (const char* state : {"prequeue", "pending", "run", "done", "failed", "rejected"}) {
    view.states.emplace_back(state, 1'000'000);
  }
  return {pools, {name, view}};
}

/// Returns a pool with CHILDREN busy children, whose requests contain TEXT.
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
  snapshot.refusals = full_refusals(text);
  snapshot.totals.requests = 1'000'000'000'000;
  return snapshot;
}

}  // namespace

TEST_CASE("the query asks for a live page, its document, or neither") {
  CHECK(pages::live_part_of("live") == LivePart{});
  CHECK(pages::live_part_of("live=1&full") == LivePart{});
  CHECK(pages::live_part_of("live&json") == LivePart{.is_document = true});
  CHECK(pages::live_part_of("json&live") == LivePart{.is_document = true});
  CHECK(pages::live_part_of("live&all") == LivePart{.is_of_all = true});
  CHECK(pages::live_part_of("live&all&json") == LivePart{.is_document = true, .is_of_all = true});
  for (const char* query :
       {"", "json", "html&full", "alive", "json=live", "Live", "all", "all&json"}) {
    CAPTURE(query);
    CHECK_FALSE(pages::live_part_of(query));
  }
}

TEST_CASE("500 children with long client texts fit into 30 kB") {
  CHECK(pages::live_page(false, true).size() < 30'000);
  CHECK(pages::live_page(false, true).contains("href=\"?live&amp;all\""));
  CHECK_FALSE(pages::live_page(false, false).contains("All pools"));
  for (const char* text : {"GET", "\x01", "\\", "\"", "\xC3\xA4", "\xFF"}) {
    CAPTURE(text);
    const std::string often = repeated(text);
    const auto figures = pages::Figures::make();
    REQUIRE(figures);
    const pages::ServerSources sources{
        .queues = [] { return full_queues(1, "www").front().view; },
        .refusals = {full_tally(scoreboard::Refuser::kFront, often),
                     full_tally(scoreboard::Refuser::kPages, often)}};
    const std::string document =
        pages::live_document(busy(500, often), figures->get(), sources, kSelf);
    CHECK(document.size() < 30'000);
    CHECK(json::accept(document));
  }
}

TEST_CASE("100 pools with 500 children each, and a courier, fit into 30 kB") {
  CHECK(pages::live_page(true, true).size() < 30'000);
  for (const char* text : {"www", "\x01", "\\", "\"", "\xC3\xA4", "\xFF"}) {
    CAPTURE(text);
    const std::string often = repeated(text);
    auto pool = scoreboard::overview_of(busy(500, "x"), full_refusals(often));
    // A pool's name is at most 32 bytes long.
    const std::string name = often.substr(0, 32);
    pool.pool.assign(name);
    pool.state.next_start = 1;
    pool.state.backoff_reason.assign(often);
    pages::DestinationView destination;
    destination.name = often;
    destination.last_error = often;
    destination.oldest = destination.last_error_age = 1'000'000'000'000;
    const pages::ServerSources sources{
        .all_queues = [&] { return full_queues(100, name); },
        .courier =
            [&] {
              return pages::CourierView{true, {100, destination}, often};
            },
        .pools = [&] { return std::vector(100, pool); }};
    const std::string text_of_all =
        pages::live_document_of_all(sources, {.monotonic = 5'000'000'000'000});
    CHECK(text_of_all.size() < 30'000);
    const json document = json::parse(text_of_all);
    CHECK(document["pools"].size() > 15);
    CHECK(document["pools"].size() + document["more"].get<std::size_t>() == 100);
    CHECK(document["courier"]["destinations"].size() +
              document["courier"]["more"].get<std::size_t>() ==
          100);
  }
}

TEST_CASE("the document of all pools has each pool's figures and queues, and combined durations") {
  PoolSnapshot first = busy(2, "secret");
  first.totals.sync_durations[3] = 2;
  PoolSnapshot second = busy(1, "secret");
  second.pool = "two";
  second.queue.reset();
  second.totals.sync_durations[3] = 5;
  PoolSnapshot third;
  third.pool = "none";
  const pages::ServerSources sources{.all_queues =
                                         [] {
                                           return std::vector<pages::PoolQueues>{
                                               {"two", {.problem = "cannot be read"}},
                                               {"www", {{{"pending", 3}}, 2, false}}};
                                         },
                                     .pools =
                                         [&] {
                                           return std::vector{scoreboard::overview_of(first, {}),
                                                              scoreboard::overview_of(second, {}),
                                                              scoreboard::overview_of(third, {})};
                                         }};
  const std::string text =
      pages::live_document_of_all(sources, {.monotonic = first.monotonic_now + 7'000'000});
  CHECK_FALSE(text.contains("secret"));
  const json document = json::parse(text);
  const json& pools = document["pools"];
  REQUIRE(pools.size() == 3);
  CHECK(pools[0]["pool"] == "www");
  CHECK(pools[0]["stages"] == "55");
  CHECK(pools[0]["age"] == 7000);
  CHECK(pools[0]["changes"]["states"]["pending"] == 3);
  CHECK(pools[1]["queue"].is_null());
  CHECK(pools[1]["changes"]["problem"] == "cannot be read");
  CHECK_FALSE(pools[2].contains("changes"));
  CHECK(document["durations"][3] == 7);
  CHECK_FALSE(document.contains("courier"));
}

TEST_CASE("the document shows refusals, the backoffice and the queues") {
  PoolSnapshot snapshot = busy(1, "x");
  snapshot.wall_now = 60'000'000;
  snapshot.state.backoffice_ended = 50'000'000;
  snapshot.state.backoffice_took = 2'000'000;
  snapshot.state.backoffice_outcome.assign("exited with code 3");
  snapshot.refusals.clear();
  for (int i = 0; i < 20; ++i) {
    scoreboard::Refusal refusal{.at = 59'000'000 - i, .status = 413};
    refusal.text.assign("too <large>");
    snapshot.refusals.push_back(refusal);
  }
  const pages::ServerSources sources{.queues = [] {
    return pages::QueuesView{{{"pending", 3}}, 2, true};
  }};
  const json document = json::parse(pages::live_document(snapshot, nullptr, sources, kSelf));
  CHECK(document["backoffice"]["ago"] == 10'000);
  CHECK(document["backoffice"]["took"] == 2000);
  CHECK(document["backoffice"]["outcome"] == "exited with code 3");
  CHECK(document["refused"].size() == 8);
  CHECK(document["refused"][0]["ago"] == 1000);
  CHECK(document["refused"][0]["text"] == "too <large>");
  CHECK(document["refused"][0]["phrase"] == "Content Too Large");
  CHECK(document["changes"]["states"]["pending"] == 3);
  CHECK(document["changes"]["cut"] == true);
}

TEST_CASE("the document of all pools has one list of refusals, with room for those of workers") {
  std::vector<scoreboard::Refusal> of_workers(1);
  of_workers[0] = {.at = 1'000'000, .status = 415};
  of_workers[0].of_request("POST", "/x?token=hidden");
  std::vector<scoreboard::Refusal> of_front;
  for (std::int64_t i = 20; i > 0; --i) {
    of_front.push_back({.at = 2'000'000 + i,
                        .status = 503,
                        .by = scoreboard::Refuser::kFront,
                        .times = 1'000'000});
  }
  const pages::ServerSources sources{.pools = [&] {
    PoolSnapshot two = busy(1, "x");
    two.pool = "two";
    return std::vector{scoreboard::overview_of(two, of_workers),
                       scoreboard::overview_of(busy(1, "x"), of_front)};
  }};
  const std::string text =
      pages::live_document_of_all(sources, {.monotonic = 1, .wall = 3'000'000});
  CHECK_FALSE(text.contains("hidden"));
  const json refused = json::parse(text)["refused"];
  REQUIRE(refused.size() == 4);
  CHECK(refused[0]["pool"] == "www");
  CHECK(refused[0]["times"] == 1'000'000);
  CHECK(refused[0]["by"] == "front");
  CHECK(refused[3]["pool"] == "two");
  CHECK(refused[3]["ago"] == 2000);
  CHECK(refused[3]["uri"] == "/x");
}

TEST_CASE(
    "the document shows each child's stage and the longest requests, without its own request") {
  PoolSnapshot snapshot = busy(40, "x");
  snapshot.processes[1].stage = Stage::kAccepting;
  snapshot.processes[39].user.assign("last");
  snapshot.totals.status_requests = 999'999'999'990;
  const json document = json::parse(pages::live_document(snapshot, nullptr, kNoSources, kSelf));
  CHECK(document["stages"] == "11" + std::string(38, '5'));
  CHECK(document["active"] == 39);
  CHECK(document["pids"][39] == kSelf + 39);
  CHECK(document["old"].size() == 20);
  CHECK(document["old"][0] == 0);
  CHECK(document["requests"].size() == 10);
  CHECK(document["requests"][0]["user"] == "last");  // started first
  // Ten requests are shown. The answering child and the accepting child are not counted.
  CHECK(document["more"] == 40 - 10 - 2);
  CHECK(document["served"] == 10);
  CHECK(document["totals"]["requests"] == 10);
  CHECK(document["queue"] == 3);
  CHECK(document["backlog"] == 511);
  CHECK(document["note"] == "");
  CHECK_FALSE(document["totals"].contains("pages generated"));
}

TEST_CASE("the document shows the operator's warnings") {
  PoolSnapshot snapshot = busy(1, "x");
  snapshot.queue.reset();
  snapshot.state.held_back = 3;
  const auto figures = *pages::Figures::make();
  const auto writable = figures->writable();
  REQUIRE(writable);
  writable->counters().made = 7;
  writable->set_version("2.21");
  json document = json::parse(pages::live_document(snapshot, figures.get(), kNoSources, kSelf));
  CHECK(document["note"] == "process.max prevents 3 more children from starting.");
  CHECK(document["queue"].is_null());
  CHECK(document["totals"]["pages generated"] == 7);
  CHECK(document["totals"]["pages generated by"] == "fossil 2.21");
  snapshot.state.next_start = 1;
  snapshot.state.backoff_reason.assign("signal 11");
  document = json::parse(pages::live_document(snapshot, figures.get(), kNoSources, kSelf));
  CHECK(document["note"].get<std::string>().ends_with("increasing delay: signal 11"));
}
