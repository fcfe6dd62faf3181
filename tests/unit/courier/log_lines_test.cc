// Tests the messages in which log lines are sent to receivers.
#include <doctest/doctest.h>
#include <syslog.h>

#include "line_sender.h"
#include "quarry/courier/log_courier.h"

using namespace quarry;
using namespace quarry::courier;

namespace {

constexpr std::int64_t kMicros = 1'772'600'767'123'456;  // 2026-03-04T05:06:07.123456Z
constexpr const char* kNotice = "[2026-03-04T05:06:07.000000Z] notice: [pool www] started";

}  // namespace

TEST_CASE("a line in the queue keeps its time, log, severity and text") {
  const spool::Message message = message_of(kMicros, "access.www", "GET / 200");
  const auto line = line_in(message);
  REQUIRE(line);
  CHECK(line->micros == kMicros);
  CHECK(line->log == "access.www");
  CHECK(line->pool() == "www");
  CHECK(line->severity == LOG_INFO);
  CHECK(line->text == "GET / 200");
  CHECK(line_in(message_of(kMicros, kErrorLog, ""))->text.empty());
  CHECK(line_in(message_of(kMicros, kErrorLog, ""))->pool().empty());
  for (const char* content : {"", "1", "x error line", "1 "}) {
    CHECK_FALSE(line_in({.content = content}));
  }
}

TEST_CASE("the severity of a line of the error log is that of its level") {
  CHECK(severity_of(kNotice) == LOG_NOTICE);
  CHECK(severity_of("[t] alert: x") == LOG_ALERT);
  CHECK(severity_of(R"({"time":"t","level":"error","pid":1,"message":"x"})") == LOG_ERR);
  for (const char* text : {"", "[t]", "[t] loud: x", "plain text", "{}", R"({"level":"loud"})"}) {
    CHECK(severity_of(text) == LOG_INFO);
  }
  CHECK(message_of(kMicros, "access.www", "[t] alert: x").severity == LOG_INFO);
}

TEST_CASE("a syslog frame is a message of RFC 5424 after its length") {
  const auto frame = [](const char* log, std::string_view text, std::uint8_t severity) {
    return syslog_frames({kMicros, log, severity, text}, LOG_LOCAL3, "quarry", "host");
  };
  CHECK(frame("access.www", "GET / 200", LOG_INFO) ==
        "71 <158>1 2026-03-04T05:06:07.123456Z host quarry - access.www - GET / 200");
  CHECK(frame("error", kNotice, LOG_NOTICE) ==
        "75 <157>1 2026-03-04T05:06:07.123456Z host quarry - error - [pool www] started");
  const std::string long_pool = "access." + std::string(40, 'p');
  CHECK(frame(long_pool.c_str(), "x", LOG_INFO).find(" - " + long_pool.substr(0, 32) + " - x") !=
        std::string::npos);
}

TEST_CASE("a long line becomes several messages, which do not cut a character") {
  std::string text;
  while (text.size() < 1'000'000) text += "aé€";
  std::string rest = syslog_frames({kMicros, "access.www", LOG_INFO, text}, LOG_LOCAL3, "q", "h");
  std::string all;
  constexpr std::string_view kHead = "<158>1 2026-03-04T05:06:07.123456Z h q - access.www - ";
  while (!rest.empty()) {
    const std::size_t blank = rest.find(' ');
    const std::size_t size = std::stoul(rest.substr(0, blank));
    REQUIRE(size <= 8192);
    REQUIRE(rest.compare(blank + 1, kHead.size(), kHead) == 0);
    const std::string part = rest.substr(blank + 1 + kHead.size(), size - kHead.size());
    REQUIRE((static_cast<unsigned char>(part.front()) & 0xc0) != 0x80);
    all += part;
    rest.erase(0, blank + 1 + size);
  }
  CHECK(all == text);
  const std::string bytes = syslog_frames(
      {kMicros, "access.www", LOG_INFO, std::string(20'000, '\x80')}, LOG_LOCAL3, "q", "h");
  CHECK(bytes.size() > 20'000);
}

TEST_CASE("a line that is nested too deeply is not parsed") {
  std::string deep = "{\"a\":";
  deep += std::string(400'000, '[') + std::string(400'000, ']') + "}";
  const std::vector<LogLine> lines{{kMicros, "access.www", LOG_INFO, deep}};
  CHECK(body_of(DestinationType::kJsonLines, lines, "h").contains("\"message\":\"{\\\"a\\\":[["));
}

TEST_CASE("a body contains all lines in the format of the receiver") {
  const LogLine access{kMicros, "access.www", LOG_INFO, "GET \"/\xff"};
  const LogLine error{kMicros + 1, "error", LOG_ERR, R"({"level":"error","message":"no"})"};
  const std::vector<LogLine> lines{access, error};
  CHECK(body_of(DestinationType::kLoki, lines, "h") ==
        R"({"streams":[{"stream":{"host":"h","job":"quarry","log":"access","pool":"www"},)"
        "\"values\":[[\"1772600767123456000\",\"GET \\\"/\xef\xbf\xbd\"]]},"
        R"({"stream":{"host":"h","job":"quarry","level":"error","log":"error"},)"
        R"("values":[["1772600767123457000","{\"level\":\"error\",\"message\":\"no\"}"]]}]})");
  const std::string first =
      "{\"@timestamp\":\"2026-03-04T05:06:07.123456Z\",\"host\":\"h\",\"level\":\"info\","
      "\"log\":\"access\",\"message\":\"GET \\\"/\xef\xbf\xbd\",\"pool\":\"www\"}\n";
  const std::string second =
      R"({"@timestamp":"2026-03-04T05:06:07.123457Z","host":"h","level":"error","log":"error","message":"no"})"
      "\n";
  CHECK(body_of(DestinationType::kJsonLines, lines, "h") == first + second);
  CHECK(body_of(DestinationType::kOpenSearch, lines, "h") ==
        "{\"create\":{\"_id\":\"h-1772600767123456\"}}\n" + first +
            "{\"create\":{\"_id\":\"h-1772600767123457\"}}\n" + second);
}

TEST_CASE("the queue of a destination has defaults that work for a receiver that is away") {
  DestinationOptions options{.name = "main", .type = DestinationType::kLoki, .logs = true};
  const auto queue = queue_options(options);
  REQUIRE(queue);
  CHECK(queue->save_on_shutdown);
  CHECK(queue->max_disk_space == std::uint64_t{1} << 30);
  options.queue = {{"size", "20"}, {"saveonshutdown", "off"}};
  CHECK(queue_options(options)->size == 20);
  CHECK_FALSE(queue_options(options)->save_on_shutdown);
  options.queue = {{"size", "20"}, {"highwatermark", "30"}};
  CHECK_FALSE(queue_options(options));
}
