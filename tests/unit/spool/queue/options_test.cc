#include <doctest/doctest.h>

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quarry/spool/options.h"

using namespace quarry::spool;
using namespace std::chrono_literals;
using quarry::base::ErrorCode;

namespace {

using Settings = std::vector<std::pair<std::string_view, std::string_view>>;

QueueOptions set(const Settings& settings) {
  QueueOptions options;
  for (const auto& [name, text] : settings) {
    CHECK_MESSAGE(set_parameter(options, name, text), name << " = " << text);
  }
  return options;
}

/// Returns the error for OPTIONS, or an empty string if they are valid.
std::string trouble(const QueueOptions& options) {
  const auto whole = complete(options);
  if (whole) return "";
  CHECK(whole.error().code == ErrorCode::kInvalid);
  return whole.error().message;
}

bool is_refused(std::string_view name, std::string_view text) {
  QueueOptions options;
  const auto result = set_parameter(options, name, text);
  // A rejected value must not change the option.
  CHECK((result || value_of(options, name) == value_of({}, name)));
  if (result) return false;
  CHECK(result.error().code == ErrorCode::kInvalid);
  CHECK(result.error().message.contains("queue." + std::string(name)));
  CHECK(result.error().message.contains(text));
  CHECK(result.error().message.contains("must be"));
  return true;
}

}  // namespace

TEST_CASE("every parameter has a name and a description, and rejects invalid values") {
  std::set<std::string_view> names;
  for (const Parameter& one : parameters()) {
    CAPTURE(one.name);
    CHECK(names.insert(one.name).second);
    CHECK_FALSE(one.value.empty());
    CHECK_FALSE(one.description.empty());
    for (const char* text : {"", "x", "-2", "1x", " 1", "99999999999999999999"}) {
      CAPTURE(text);
      CHECK(is_refused(one.name, text));
    }
  }
  CHECK(names.size() == 27);
  QueueOptions options;
  const auto unknown = set_parameter(options, "hugewatermark", "1");
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().code == ErrorCode::kNotFound);
  CHECK(unknown.error().message.contains("queue.hugewatermark"));
}

TEST_CASE("a value that is set is printed, and one that is invalid refused") {
  struct Case {
    std::string_view name;
    std::vector<std::string_view> good = {"7"};  // must be printed in the same form
    std::vector<std::string_view> bad = {};
  };
  const std::vector<Case> cases{
      {"type", {"memory", "disk", "direct"}, {"Disk"}},
      {"size", {"7", "1000000000"}, {"0", "1000000001"}},
      {"highwatermark", {"7"}, {"0"}},
      {"lowwatermark", {"0", "7"}},
      {"fulldelaymark", {"7"}, {"0"}},
      {"lightdelaymark", {"7"}, {"0"}},
      {"discardmark", {"7"}, {"0"}},
      {"discardseverity", {"0", "8"}, {"9"}},
      {"samplinginterval"},
      {"maxfilesize",
       {"1k", "3k", "3m", "3g", "1500"},
       {"k", "3t", "3kb", "k3", "-1k", "1023", "9999999999999g", "3 k", "1"}},
      {"maxdiskspace", {"3g"}},
      {"checkpointinterval"},
      {"syncqueuefiles", {"on", "off"}, {"yes"}},
      {"saveonshutdown", {"on", "off"}, {"yes", "ON", "1", "true"}},
      {"oncorruption", {"safe", "ignore"}, {"inmemory"}},
      {"workerthreads", {"256"}, {"0", "257"}},
      {"workerthreadminimummessages", {"7"}, {"0"}},
      {"dequeuebatchsize", {"7"}, {"0"}},
      {"mindequeuebatchsize"},
      {"mindequeuebatchsize.timeout"},
      {"dequeueslowdown"},
      {"dequeuetimebegin", {"0", "23"}, {"24"}},
      {"dequeuetimeend", {"0", "25"}, {"26"}},
      {"timeoutenqueue", {"0", "7"}, {"-1", "5s"}},
      {"timeoutshutdown", {"7"}, {"-1"}},
      {"timeoutactioncompletion", {"7"}, {"-1"}},
      {"timeoutworkerthreadshutdown"}};
  CHECK(cases.size() == parameters().size());
  for (const Case& one : cases) {
    CAPTURE(one.name);
    for (const std::string_view text : one.good)
      CHECK(value_of(set({{one.name, text}}), one.name) == text);
    for (const std::string_view text : one.bad) CHECK(is_refused(one.name, text));
  }
}

TEST_CASE("values are set in the right member and unit, and have rsyslog's other names") {
  CHECK(set({{"type", "direct"}}).type == QueueType::kDirect);
  for (const char* name : {"memory", "linkedlist", "fixedarray"}) {
    CHECK(set({{"type", "disk"}, {"type", name}}).type == QueueType::kMemory);
  }
  const QueueOptions options = set({{"highwatermark", "1"},
                                    {"lowwatermark", "2"},
                                    {"fulldelaymark", "3"},
                                    {"lightdelaymark", "4"},
                                    {"discardmark", "5"},
                                    {"size", "6"},
                                    {"timeoutenqueue", "7"},
                                    {"timeoutshutdown", "8"},
                                    {"timeoutactioncompletion", "9"},
                                    {"timeoutworkerthreadshutdown", "-1"},
                                    {"mindequeuebatchsize.timeout", "10"},
                                    {"dequeueslowdown", "11"},
                                    {"maxfilesize", "3M"},
                                    {"maxdiskspace", "3G"},
                                    {"oncorruption", "ignore"}});
  CHECK(options.high_watermark == 1);
  CHECK(options.low_watermark == 2);
  CHECK(options.full_delay_mark == 3);
  CHECK(options.light_delay_mark == 4);
  CHECK(options.discard_mark == 5);
  CHECK(options.size == 6);
  CHECK(options.timeout_enqueue == 7ms);
  CHECK(options.timeout_shutdown == 8ms);
  CHECK(options.timeout_action_completion == 9ms);
  CHECK(options.timeout_worker_thread_shutdown == kEternal);
  CHECK(options.min_dequeue_batch_timeout == 10ms);
  CHECK(options.dequeue_slowdown == 11us);
  CHECK(options.max_file_size == 3 << 20);
  CHECK(options.max_disk_space == std::uint64_t{3} << 30);
  CHECK(options.on_corruption == OnCorruption::kIgnore);
}

TEST_CASE("defaults and values without a limit are printed in words") {
  const QueueOptions options;
  const auto whole = complete(options);
  REQUIRE(whole);
  QueueOptions endless;
  endless.size = kAnySize;
  endless.full_delay_mark = kAnySize;
  endless.timeout_worker_thread_shutdown = kEternal;
  CHECK(value_of(options, "type") == "memory");
  CHECK(value_of(options, "size") == "10000");
  CHECK(value_of(options, "highwatermark") == "90 % of the size");
  CHECK(value_of(*whole, "highwatermark") == "9000");
  CHECK(value_of(options, "workerthreadminimummessages") == "size/workerthreads");
  CHECK(value_of(options, "maxfilesize") == "1m");
  CHECK(value_of(options, "maxdiskspace") == "no limit");
  CHECK(value_of(set({{"maxdiskspace", "0"}}), "maxdiskspace") == "no limit");
  CHECK(value_of(endless, "timeoutworkerthreadshutdown") == "for ever");
  CHECK(value_of(endless, "size") == "no limit");
  CHECK(value_of(endless, "fulldelaymark") == "the size");
}

TEST_CASE("marks that are not set are parts of the size, and those that are set stay") {
  const auto whole = complete({});
  REQUIRE(whole);
  CHECK(whole->high_watermark == 9000);
  CHECK(whole->low_watermark == 7000);
  CHECK(whole->full_delay_mark == 9700);
  CHECK(whole->light_delay_mark == 7000);
  CHECK(whole->discard_mark == 8000);
  CHECK(whole->worker_thread_minimum_messages == 10000);
  CHECK_FALSE(whole->is_disk_assisted());
  const auto given = complete(set(
      {{"size", "100"}, {"highwatermark", "50"}, {"discardmark", "3"}, {"workerthreads", "4"}}));
  REQUIRE(given);
  CHECK(given->high_watermark == 50);
  CHECK(given->low_watermark == 49);
  CHECK(given->discard_mark == 3);
  CHECK(given->worker_thread_minimum_messages == 25);
}

TEST_CASE("every size has marks that work") {
  for (std::size_t size = 1; size <= 200; ++size) {
    CAPTURE(size);
    const auto whole = complete(set({{"size", std::to_string(size)}, {"workerthreads", "8"}}));
    REQUIRE(whole);
    CHECK(*whole->low_watermark < *whole->high_watermark);
    CHECK(*whole->high_watermark <= size);
    CHECK(*whole->full_delay_mark >= 1);
    CHECK(*whole->light_delay_mark >= 1);
    CHECK(*whole->discard_mark >= 1);
    CHECK(*whole->worker_thread_minimum_messages >= 1);
  }
}

TEST_CASE("no worker waits for a batch that is larger than the queue") {
  const auto min = [](std::string_view size, std::string_view batch) {
    return complete(
               set({{"size", size}, {"dequeuebatchsize", batch}, {"mindequeuebatchsize", "50"}}))
        ->min_dequeue_batch_size;
  };
  CHECK(min("1000", "100") == 50);
  CHECK(min("1000", "20") == 20);
  CHECK(min("10", "100") == 9);
}

TEST_CASE("contradictory parameters are reported by their names") {
  const std::vector<std::pair<Settings, std::vector<std::string>>> cases{
      {{{"size", "10"}, {"highwatermark", "11"}}, {"queue.highwatermark", "queue.size"}},
      {{{"highwatermark", "5"}, {"lowwatermark", "5"}},
       {"queue.lowwatermark", "queue.highwatermark"}},
      {{{"size", "10"}, {"fulldelaymark", "11"}}, {"queue.fulldelaymark", "queue.size"}},
      {{{"size", "10"}, {"lightdelaymark", "11"}}, {"queue.lightdelaymark", "queue.size"}},
      {{{"size", "10"}, {"discardmark", "11"}}, {"queue.discardmark", "queue.size"}},
      {{{"maxfilesize", "2000"}, {"maxdiskspace", "1999"}},
       {"queue.maxdiskspace", "queue.maxfilesize"}},
      {{{"maxfilesize", "2000"}, {"maxdiskspace", "2000"}}, {}},
      {{{"dequeuetimebegin", "8"}, {"dequeuetimeend", "8"}}, {"queue.dequeuetimebegin"}},
      {{{"dequeuetimebegin", "22"}, {"dequeuetimeend", "4"}}, {}},
      {{{"dequeuetimebegin", "0"}, {"dequeuetimeend", "24"}}, {}},
      {{{"dequeuetimebegin", "8"}, {"dequeuetimeend", "25"}}, {}},
      {{{"type", "disk"}}, {"queue.filename"}}};
  for (const auto& [settings, names] : cases) {
    const std::string text = trouble(set(settings));
    CAPTURE(text);
    CHECK(text.empty() == names.empty());
    for (const std::string& name : names) CHECK(text.contains(name));
  }
}

TEST_CASE("files need a folder and a plain name") {
  QueueOptions options;
  options.filename = "q";
  CHECK(trouble(options).contains("queue.spooldirectory"));
  options.spool_directory = "/tmp";
  CHECK(complete(options)->is_disk_assisted());
  options.type = QueueType::kDisk;
  CHECK_FALSE(options.is_disk_assisted());
  options.filename = "a/b";
  CHECK(trouble(options).contains("queue.filename"));
}

TEST_CASE("options that only code can set are validated, too") {
  using O = QueueOptions;
  const std::vector<std::pair<std::function<void(O&)>, std::string>> cases{
      {[](O& o) { o.size = 0; }, "size"},
      {[](O& o) { o.discard_severity = 9; }, "discardseverity"},
      {[](O& o) { o.max_file_size = 10; }, "maxfilesize"},
      {[](O& o) { o.dequeue_batch_size = 0; }, "dequeuebatchsize"},
      {[](O& o) { o.full_delay_mark = 0; }, "fulldelaymark"},
      {[](O& o) { o.worker_thread_minimum_messages = 0; }, "workerthreadminimummessages"},
      {[](O& o) { o.worker_threads = 0; }, "workerthreads"},
      {[](O& o) { o.dequeue_time_end = 26; }, "dequeuetimeend"},
      {[](O& o) { o.dequeue_time_begin = -1; }, "dequeuetimebegin"}};
  for (const auto& [change, name] : cases) {
    O options;
    change(options);
    CHECK(trouble(options).contains("queue." + name));
  }
}
