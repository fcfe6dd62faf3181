// The parameters of a queue: names, units, invalid values, and dependencies.
#include <doctest/doctest.h>

#include <chrono>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/spool/options.h"

using namespace quarry::spool;
using namespace std::chrono_literals;
using quarry::base::ErrorCode;

namespace {

/// The default options, modified by CHANGE.
template <typename Change>
QueueOptions options_with(Change change) {
  QueueOptions options;
  change(options);
  return options;
}

/// The error for OPTIONS, or "".
std::string trouble(const QueueOptions& options) {
  const auto whole = complete(options);
  if (whole) return "";
  CHECK(whole.error().code == ErrorCode::kInvalid);
  return whole.error().message;
}

QueueOptions set(std::string_view name, std::string_view text) {
  QueueOptions options;
  const auto result = set_parameter(options, name, text);
  CHECK_MESSAGE(result, name << " = " << text);
  return options;
}

bool is_refused(std::string_view name, std::string_view text) {
  QueueOptions options;
  const auto result = set_parameter(options, name, text);
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
}

TEST_CASE("the printed value of a parameter is correct, and can be set again") {
  const QueueOptions options;
  const auto whole = complete(options);
  REQUIRE(whole);
  for (const Parameter& one : parameters()) {
    CAPTURE(one.name);
    const std::string number = value_of(*whole, one.name);
    QueueOptions again = *whole;
    const bool is_in_words = number == "no limit" || number == "the size";
    if (!is_in_words) CHECK(set_parameter(again, one.name, number));
    CHECK(value_of(again, one.name) == number);
  }
  CHECK(value_of(options, "type") == "memory");
  CHECK(value_of(options, "size") == "10000");
  CHECK(value_of(options, "highwatermark") == "90 % of the size");
  CHECK(value_of(*whole, "highwatermark") == "9000");
  CHECK(value_of(options, "workerthreadminimummessages") == "size/workerthreads");
  CHECK(value_of(options, "maxfilesize") == "1m");
  CHECK(value_of(set("maxfilesize", "3g"), "maxfilesize") == "3g");
  CHECK(value_of(set("maxfilesize", "1500"), "maxfilesize") == "1500");
  CHECK(value_of(options, "maxdiskspace") == "no limit");
  CHECK(value_of(options, "syncqueuefiles") == "off");
  CHECK(value_of(options, "oncorruption") == "safe");
  CHECK(value_of(set("timeoutworkerthreadshutdown", "-1"), "timeoutworkerthreadshutdown") ==
        "for ever");
  QueueOptions endless;
  endless.size = kAnySize;
  endless.full_delay_mark = kAnySize;
  CHECK(value_of(endless, "size") == "no limit");
  CHECK(value_of(endless, "fulldelaymark") == "the size");
}

TEST_CASE("hours are valid hours of a day, in any order, and different") {
  CHECK(set("dequeuetimebegin", "23").dequeue_time_begin == 23);
  CHECK(set("dequeuetimeend", "0").dequeue_time_end == 0);
  CHECK(set("dequeuetimeend", "25").dequeue_time_end == 25);
  CHECK(is_refused("dequeuetimebegin", "24"));
  CHECK(is_refused("dequeuetimeend", "26"));
  const auto during = [](int begin, int end) {
    return options_with([&](QueueOptions& o) {
      o.dequeue_time_begin = begin;
      o.dequeue_time_end = end;
    });
  };
  CHECK(trouble(during(8, 8)).contains("queue.dequeuetimebegin"));
  CHECK(trouble(during(8, 26)).contains("queue.dequeuetimeend"));
  CHECK(trouble(during(-1, 3)).contains("queue.dequeuetimebegin"));
  CHECK(trouble(during(22, 4)).empty());
  CHECK(trouble(during(0, 24)).empty());
  CHECK(trouble(during(8, 25)).empty());
}

TEST_CASE("queue.oncorruption has rsyslog's values") {
  CHECK(set("oncorruption", "safe").on_corruption == OnCorruption::kSafe);
  CHECK(set("oncorruption", "ignore").on_corruption == OnCorruption::kIgnore);
}

TEST_CASE("no worker waits for a batch that is larger than the queue") {
  const auto min = [](std::size_t size, std::size_t batch) {
    return complete(options_with([&](QueueOptions& o) {
             o.size = size;
             o.dequeue_batch_size = batch;
             o.min_dequeue_batch_size = 50;
           }))
        ->min_dequeue_batch_size;
  };
  CHECK(min(1000, 100) == 50);
  CHECK(min(1000, 20) == 20);
  CHECK(min(10, 100) == 9);
}

TEST_CASE("an unknown parameter is reported by its name") {
  QueueOptions options;
  const auto result = set_parameter(options, "hugewatermark", "1");
  REQUIRE_FALSE(result);
  CHECK(result.error().code == ErrorCode::kNotFound);
  CHECK(result.error().message.contains("queue.hugewatermark"));
}

TEST_CASE("a value that is refused changes nothing") {
  QueueOptions options;
  CHECK_FALSE(set_parameter(options, "size", "0"));
  CHECK_FALSE(set_parameter(options, "maxfilesize", "1"));
  CHECK_FALSE(set_parameter(options, "discardseverity", "9"));
  CHECK(options.size == 10000);
  CHECK(options.max_file_size == 1 << 20);
  CHECK(options.discard_severity == 8);
}

TEST_CASE("types have rsyslog's names too") {
  CHECK(set("type", "direct").type == QueueType::kDirect);
  CHECK(set("type", "disk").type == QueueType::kDisk);
  for (const char* name : {"memory", "linkedlist", "fixedarray"}) {
    QueueOptions options = options_with([](QueueOptions& o) { o.type = QueueType::kDisk; });
    CHECK(set_parameter(options, "type", name));
    CHECK(options.type == QueueType::kMemory);
  }
  CHECK(is_refused("type", "Disk"));
}

TEST_CASE("each count is set in the right member") {
  CHECK(set("size", "7").size == 7);
  CHECK(set("highwatermark", "7").high_watermark == 7);
  CHECK(set("lowwatermark", "0").low_watermark == 0);
  CHECK(set("fulldelaymark", "7").full_delay_mark == 7);
  CHECK(set("lightdelaymark", "7").light_delay_mark == 7);
  CHECK(set("discardmark", "7").discard_mark == 7);
  CHECK(set("discardseverity", "0").discard_severity == 0);
  CHECK(set("discardseverity", "8").discard_severity == 8);
  CHECK(set("checkpointinterval", "7").checkpoint_interval == 7);
  CHECK(set("workerthreads", "256").worker_threads == 256);
  CHECK(set("workerthreadminimummessages", "7").worker_thread_minimum_messages == 7);
  CHECK(set("dequeuebatchsize", "7").dequeue_batch_size == 7);
  CHECK(set("mindequeuebatchsize", "7").min_dequeue_batch_size == 7);
  CHECK(set("samplinginterval", "7").sampling_interval == 7);
}

TEST_CASE("counts out of their range are refused") {
  for (const char* name :
       {"size", "highwatermark", "fulldelaymark", "lightdelaymark", "discardmark", "workerthreads",
        "workerthreadminimummessages", "dequeuebatchsize"}) {
    CHECK(is_refused(name, "0"));
  }
  CHECK(is_refused("discardseverity", "9"));
  CHECK(is_refused("workerthreads", "257"));
  CHECK(is_refused("size", "1000000001"));
}

TEST_CASE("file sizes accept k, m and g") {
  CHECK(set("maxfilesize", "1024").max_file_size == 1024);
  CHECK(set("maxfilesize", "3k").max_file_size == 3 << 10);
  CHECK(set("maxfilesize", "3M").max_file_size == 3 << 20);
  CHECK(set("maxdiskspace", "3g").max_disk_space == std::uint64_t{3} << 30);
  CHECK(set("maxdiskspace", "3G").max_disk_space == std::uint64_t{3} << 30);
  CHECK(set("maxdiskspace", "0").max_disk_space == 0);
  for (const char* text : {"k", "3t", "3kb", "k3", "-1k", "1023", "9999999999999g", "3 k"}) {
    CHECK(is_refused("maxfilesize", text));
  }
}

TEST_CASE("switches are on or off") {
  CHECK(set("syncqueuefiles", "on").sync_queue_files);
  CHECK_FALSE(set("syncqueuefiles", "off").sync_queue_files);
  CHECK(set("saveonshutdown", "on").save_on_shutdown);
  for (const char* text : {"yes", "ON", "1", "true"}) CHECK(is_refused("saveonshutdown", text));
}

TEST_CASE(
    "times are milliseconds, the slowdown microseconds, and -1 is for ever for idle workers") {
  CHECK(set("timeoutenqueue", "7").timeout_enqueue == 7ms);
  CHECK(set("timeoutenqueue", "0").timeout_enqueue == 0ms);
  CHECK(set("timeoutshutdown", "7").timeout_shutdown == 7ms);
  CHECK(set("mindequeuebatchsize.timeout", "7").min_dequeue_batch_timeout == 7ms);
  CHECK(set("timeoutactioncompletion", "7").timeout_action_completion == 7ms);
  CHECK(set("timeoutworkerthreadshutdown", "7").timeout_worker_thread_shutdown == 7ms);
  CHECK(set("timeoutworkerthreadshutdown", "-1").timeout_worker_thread_shutdown == kEternal);
  CHECK(set("dequeueslowdown", "7").dequeue_slowdown == 7us);
  for (const char* name : {"timeoutenqueue", "timeoutshutdown", "timeoutactioncompletion"}) {
    CHECK(is_refused(name, "-1"));
  }
  CHECK(is_refused("timeoutenqueue", "5s"));
}

TEST_CASE("marks that are not set are parts of the size") {
  const auto whole = complete({});
  REQUIRE(whole);
  CHECK(whole->high_watermark == 9000);
  CHECK(whole->low_watermark == 7000);
  CHECK(whole->full_delay_mark == 9700);
  CHECK(whole->light_delay_mark == 7000);
  CHECK(whole->discard_mark == 8000);
  CHECK(whole->worker_thread_minimum_messages == 10000);
  CHECK_FALSE(whole->is_disk_assisted());
}

TEST_CASE("marks that are set stay, and the default low water mark is below a high one that is") {
  const auto whole = complete(options_with([](QueueOptions& o) {
    o.size = 100;
    o.high_watermark = 50;
    o.discard_mark = 3;
  }));
  REQUIRE(whole);
  CHECK(whole->high_watermark == 50);
  CHECK(whole->low_watermark == 49);
  CHECK(whole->discard_mark == 3);
}

TEST_CASE("every size has marks that work") {
  for (std::size_t size = 1; size <= 200; ++size) {
    CAPTURE(size);
    const auto whole = complete(options_with([size](QueueOptions& o) {
      o.size = size;
      o.worker_threads = 8;
    }));
    REQUIRE(whole);
    CHECK(*whole->low_watermark < *whole->high_watermark);
    CHECK(*whole->high_watermark <= size);
    CHECK(*whole->full_delay_mark >= 1);
    CHECK(*whole->light_delay_mark >= 1);
    CHECK(*whole->discard_mark >= 1);
    CHECK(*whole->worker_thread_minimum_messages >= 1);
  }
}

TEST_CASE("contradictory marks are reported by both names") {
  const auto tells = [](const QueueOptions& options, std::string_view one, std::string_view other) {
    const std::string text = trouble(options);
    CAPTURE(text);
    return text.contains("queue." + std::string(one)) &&
           text.contains("queue." + std::string(other));
  };
  CHECK(tells(options_with([](QueueOptions& o) {
                o.size = 10;
                o.high_watermark = 11;
              }),
              "highwatermark", "size"));
  CHECK(tells(options_with([](QueueOptions& o) {
                o.high_watermark = 5;
                o.low_watermark = 5;
              }),
              "lowwatermark", "highwatermark"));
  CHECK(tells(options_with([](QueueOptions& o) {
                o.size = 10;
                o.full_delay_mark = 11;
              }),
              "fulldelaymark", "size"));
  CHECK(tells(options_with([](QueueOptions& o) {
                o.size = 10;
                o.light_delay_mark = 11;
              }),
              "lightdelaymark", "size"));
  CHECK(tells(options_with([](QueueOptions& o) {
                o.size = 10;
                o.discard_mark = 11;
              }),
              "discardmark", "size"));
  CHECK(tells(options_with([](QueueOptions& o) {
                o.max_file_size = 2000;
                o.max_disk_space = 1999;
              }),
              "maxdiskspace", "maxfilesize"));
  CHECK(trouble(options_with([](QueueOptions& o) {
          o.max_file_size = 2000;
          o.max_disk_space = 2000;
        })).empty());
}

TEST_CASE("files need a folder and a plain name, and a disk queue needs files") {
  CHECK(trouble(options_with([](QueueOptions& o) {
          o.type = QueueType::kDisk;
        })).contains("queue.filename"));
  CHECK(trouble(options_with([](QueueOptions& o) {
          o.filename = "q";
        })).contains("queue.spooldirectory"));
  CHECK(trouble(options_with([](QueueOptions& o) {
          o.spool_directory = "/tmp";
          o.filename = "a/b";
        })).contains("queue.filename"));
  const auto whole = complete(options_with([](QueueOptions& o) {
    o.spool_directory = "/tmp";
    o.filename = "q";
  }));
  REQUIRE(whole);
  CHECK(whole->is_disk_assisted());
  CHECK_FALSE(options_with([](QueueOptions& o) {
                o.type = QueueType::kDisk;
                o.filename = "q";
              }).is_disk_assisted());
}

TEST_CASE("options that only code can set are validated, too") {
  CHECK(trouble(options_with([](QueueOptions& o) { o.size = 0; })).contains("queue.size"));
  CHECK(trouble(options_with([](QueueOptions& o) {
          o.discard_severity = 9;
        })).contains("queue.discardseverity"));
  CHECK(trouble(options_with([](QueueOptions& o) {
          o.max_file_size = 10;
        })).contains("queue.maxfilesize"));
  CHECK(trouble(options_with([](QueueOptions& o) {
          o.dequeue_batch_size = 0;
        })).contains("queue.dequeuebatchsize"));
  CHECK(trouble(options_with([](QueueOptions& o) {
          o.full_delay_mark = 0;
        })).contains("queue.fulldelaymark"));
  CHECK(trouble(options_with([](QueueOptions& o) {
          o.worker_thread_minimum_messages = 0;
        })).contains("queue.workerthreadminimummessages"));
  CHECK(trouble(options_with([](QueueOptions& o) {
          o.worker_threads = 0;
        })).contains("queue.workerthreads"));
}
