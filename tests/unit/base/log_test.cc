#include "quarry/base/log.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <syslog.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <vector>

#include "log_frame.h"
#include "quarry/base/log_stream.h"
#include "quarry/base/pipe.h"

using namespace quarry::base;

namespace {

constexpr std::int64_t kTime = 1772600767123456;  // 2026-03-04T05:06:07.123456Z

std::vector<std::string> lines_of(const LogOptions& options, std::string_view message,
                                  std::string_view child = "pool www") {
  LogFrame frame(options, {kTime, LogLevel::kNotice, 99, child, message});
  std::vector<std::string> lines;
  while (!frame.is_done()) {
    const std::string part = frame.next_part();
    lines.push_back(frame.head() + part + std::string(frame.tail()));
  }
  return lines;
}

std::string line_of(const LogOptions& options, std::string_view message,
                    std::string_view child = "pool www") {
  const auto lines = lines_of(options, message, child);
  REQUIRE(lines.size() == 1);
  return lines[0];
}

LogOptions to(LogTarget target, LogForm form = LogForm::kText) {
  LogOptions options;
  options.target = target;
  options.form = form;
  return options;
}

}  // namespace

TEST_CASE("printable text is unchanged, and text cannot forge a log line") {
  CHECK(printable("/repo?x=1 ü") == "/repo?x=1 ü");
  CHECK(printable("a\nb\\c\x1b[0m\xff") == "a\\x0ab\\x5cc\\x1b[0m\\xff");
  CHECK(printable("\xc2\x85") == "\\xc2\\x85");
  CHECK(escape_markup("<a title=\"b's\"> & ü") == "&lt;a title=&quot;b&#39;s&quot;&gt; &amp; ü");
  CHECK(escape_page_text("Caf\xe9 <\xc3\xbc>\n\xf0\x9f\x98") ==
        "Caf\ufffd &lt;ü&gt;\n\ufffd\ufffd\ufffd");
  CHECK(printable("abcdef", 3) == "abc…");
  CHECK(printable("a\u202eb\u2069c\u2065\u202f") ==
        "a\\xe2\\x80\\xaeb\\xe2\\x81\\xa9c\u2065\u202f");
  CHECK(escape_page_text("\u202a\u202e<\u2066\u2069\u2065\u206a\u2029\u202f\xe2\x80") ==
        "[U+202A][U+202E]&lt;[U+2066][U+2069]\u2065\u206a\u2029\u202f\ufffd\ufffd");
}

TEST_CASE("a line of a file has time with microseconds, level and child") {
  CHECK(line_of(to(LogTarget::kFile), "hello") ==
        "[2026-03-04T05:06:07.123456Z] notice: [pool www] hello\n");
  CHECK(line_of(to(LogTarget::kFile), "", "") == "[2026-03-04T05:06:07.123456Z] notice: \n");
}

TEST_CASE("control characters never reach a line, in any format") {
  CHECK(line_of(to(LogTarget::kFile), "a\nb\\x\x7f\xc3\xbc\xff", "") ==
        "[2026-03-04T05:06:07.123456Z] notice: a\\x0ab\\x\\x7f\xc3\xbc\\xff\n");
  const std::string json = line_of(to(LogTarget::kFile, LogForm::kJson), "a\nb\"\\\xff\xc3\xbc");
  CHECK(nlohmann::json::parse(json)["message"] == "a\nb\"\\\ufffd\xc3\xbc");
  CHECK(json.find('\n') == json.size() - 1);
}

TEST_CASE("a JSON line is an object with the same fields") {
  const auto json =
      nlohmann::json::parse(line_of(to(LogTarget::kFile, LogForm::kJson), "say \"hi\""));
  CHECK(json == nlohmann::json{{"time", "2026-03-04T05:06:07.123456Z"},
                               {"level", "notice"},
                               {"pid", 99},
                               {"child", "pool www"},
                               {"message", "say \"hi\""}});
}

TEST_CASE("a long message is split into lines within the limit, and nothing is lost") {
  std::string message;
  for (int i = 0; i < 400; ++i) message += "ü\"" + std::to_string(i);
  for (const LogForm form : {LogForm::kText, LogForm::kJson}) {
    LogOptions options = to(LogTarget::kFile, form);
    options.limit = kMinLogLimit;
    const auto lines = lines_of(options, message);
    CHECK(lines.size() > 3);
    std::string joined;
    for (const std::string& line : lines) {
      CHECK(line.size() <= options.limit + 1);
      if (&line != &lines.back()) CHECK(line.size() > options.limit - 10);
      constexpr std::string_view kBefore = "notice: [pool www] ";
      joined += form == LogForm::kJson
                    ? nlohmann::json::parse(line)["message"].get<std::string>()
                    : line.substr(line.find(kBefore) + kBefore.size(),
                                  line.size() - 1 - line.find(kBefore) - kBefore.size());
    }
    CHECK(joined == message);
  }
}

TEST_CASE("a datagram to syslog has priority, local time, identity and process") {
  ::setenv("TZ", "UTC", 1);
  LogOptions options = to(LogTarget::kSyslog);
  options.facility = LOG_LOCAL3;
  options.ident = "quarry-test";
  CHECK(line_of(options, "hello") ==
        "<157>Mar  4 05:06:07 quarry-test[99]: notice: [pool www] hello");
  options.form = LogForm::kJson;
  const std::string line = line_of(options, "hello");
  const std::string_view before = "<157>Mar  4 05:06:07 quarry-test[99]: ";
  REQUIRE(line.starts_with(before));
  CHECK(nlohmann::json::parse(line.substr(before.size()))["message"] == "hello");
}

TEST_CASE("an entry of the journal has fields, and no message can add one") {
  LogOptions options = to(LogTarget::kJournald);
  CHECK(line_of(options, "a\nPRIORITY=0") ==
        "PRIORITY=5\nSYSLOG_FACILITY=3\nSYSLOG_IDENTIFIER=quarryd\nSYSLOG_PID=99\n"
        "QUARRY_CHILD=pool www\nMESSAGE=[pool www] a\\x0aPRIORITY=0\n");
}

TEST_CASE("a datagram always fits into a socket's buffer") {
  for (const LogTarget target : {LogTarget::kSyslog, LogTarget::kJournald}) {
    LogOptions options = to(target);
    options.limit = std::size_t{1} << 30;
    const auto lines = lines_of(options, std::string(100000, 'x'));
    REQUIRE(lines.size() == 2);
    CHECK(lines[0].size() < 66000);
  }
}

TEST_CASE("a line is written to a pipe completely, or not at all") {
  for (const int flags : {O_NONBLOCK, 0}) {
    Pipe pipe = *make_pipe();
    ::fcntl(pipe.reading.get(), F_SETFL, O_NONBLOCK);
    ::fcntl(pipe.writing.get(), F_SETFL, flags);
    const LogStream stream(std::move(pipe.writing));
    const auto queued = [&] {
      int size = 0;
      ::ioctl(pipe.reading.get(), FIONREAD, &size);
      return static_cast<std::size_t>(size);
    };
    CHECK_FALSE(stream.write(std::string(1 << 20, 'x')));
    CHECK(queued() == 0);
    for (const std::size_t size : {20'000U, 5'000U, 1'000U, 1U}) {
      std::size_t written = queued();
      for (int i = 0; i < 100'000 && stream.write(std::string(size, 'x')); ++i) written += size;
      CHECK(queued() == written);
    }
    std::string text(queued(), '\0');
    CHECK(::read(pipe.reading.get(), text.data(), text.size()) > 0);
    CHECK(stream.write(std::string(20'000, 'x')));
  }
}

TEST_CASE("error_log is a path, stderr, a daemon with or without its socket, or a destination") {
  LogOptions options;
  CHECK(set_log_target(options, "/var/log/q.log"));
  CHECK(options.target == LogTarget::kFile);
  CHECK(options.path == "/var/log/q.log");
  CHECK(set_log_target(options, "syslog"));
  CHECK(options.target == LogTarget::kSyslog);
  CHECK(options.path == "/dev/log");
  CHECK(set_log_target(options, "journald:/run/j"));
  CHECK(options.target == LogTarget::kJournald);
  CHECK(options.path == "/run/j");
  CHECK(set_log_target(options, "destination:main"));
  CHECK(options.target == LogTarget::kDestination);
  CHECK(options.destination == "main");
  CHECK(log_target_of(options) == "destination:main");
  CHECK(set_log_target(options, "stderr"));
  CHECK(options.target == LogTarget::kStderr);
  for (const std::string& wrong : {std::string(), std::string("log"), std::string("syslog:x"),
                                   std::string("journald:"), "syslog:/" + std::string(108, 'x')}) {
    CHECK_FALSE(set_log_target(options, wrong));
  }
}

TEST_CASE("facilities have syslog's names, in any case of letters") {
  CHECK(syslog_facility_named("daemon") == LOG_DAEMON);
  CHECK(syslog_facility_named("LOCAL7") == LOG_LOCAL7);
  CHECK_FALSE(syslog_facility_named("local8"));
}
