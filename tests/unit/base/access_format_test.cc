#include "quarry/base/access_format.h"

#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>

using namespace quarry::base;

namespace {

constexpr std::array<const char*, 4> kVariables = {"HTTP_HOST=example.org",
                                                   "EMPTY=", "HTTP_X=a\"b\nc\\d", nullptr};

AccessRecord sample() {
  ::setenv("TZ", "UTC", 1);
  AccessRecord record;
  record.pool = "www";
  record.pid = 42;
  record.parent = 41;
  record.received = 1772600767123456;  // 2026-03-04T05:06:07.123456Z
  record.written = record.received + 2000000;
  record.duration = 1234567;
  record.cpu_user = 600000;
  record.cpu_system = 17284;
  record.memory_peak = (std::uint64_t{5} << 20) + 1024;
  record.remote_address = "192.0.2.7";
  record.user = "ann";
  record.method = "POST";
  record.path = "/team/tool";
  record.query = "a=1";
  record.content_length = 77;
  record.status = 200;
  record.reply_size = 12;
  record.repository = "/srv/tool.fossil";
  record.operation = "push";
  record.request_id = "0af7";
  record.reply_header = "Status: 200 OK\r\nContent-Type: text/plain\r\n\r\n";
  record.variables = kVariables.data();
  return record;
}

std::string rendered(std::string_view format, const AccessRecord& record = sample()) {
  const auto compiled = AccessFormat::compile(format);
  REQUIRE(compiled);
  std::string line;
  compiled->render(record, line);
  REQUIRE(line.ends_with('\n'));
  line.pop_back();
  return line;
}

std::string mistake(std::string_view format) {
  const auto compiled = AccessFormat::compile(format);
  REQUIRE_FALSE(compiled);
  return compiled.error().message;
}

}  // namespace

TEST_CASE("the usual format is PHP-FPM's") {
  std::string line;
  AccessFormat::usual().render(sample(), line);
  CHECK(line == "192.0.2.7 - ann 04/Mar/2026:05:06:07 +0000 \"POST /team/tool\" 200\n");
}

TEST_CASE("every placeholder has its value") {
  CHECK(rendered("%n %p %P %R %u %m %r%Q%q %s %f %l %x %L") ==
        "www 42 41 192.0.2.7 ann POST /team/tool?a=1 200 /srv/tool.fossil 77 push 0af7");
  CHECK(rendered("%C %{total}C %{user}C %{system}C") == "50.00 50.00 48.60 1.40");
  CHECK(rendered("%d %{seconds}d %{milli}d %{milliseconds}d %{micro}d %{microseconds}d") ==
        "1.235 1.235 1234.567 1234.567 1234567 1234567");
  CHECK(rendered("%M %{bytes}M %{kilo}M %{kilobytes}M %{mega}M %{megabytes}M") ==
        "5243904 5243904 5121 5121 5 5");
  CHECK(rendered("%{Milli}d %{KILO}M") == "1234.567 5121");
  ::setenv("QUARRY_TEST_VARIABLE", "of the process", 1);
  CHECK(rendered("%{HTTP_HOST}e %{EMPTY}e %{NONE}e %{QUARRY_TEST_VARIABLE}e") ==
        "example.org - - of the process");
  CHECK(rendered("%{Content-Type}o %{content-type}o %{X-None}o") == "text/plain text/plain -");
  CHECK(rendered("%t|%T") == "04/Mar/2026:05:06:07 +0000|04/Mar/2026:05:06:09 +0000");
  CHECK(rendered("%{%Y-%m-%dT%H:%M:%S}t %{%s}T") == "2026-03-04T05:06:07 1772600769");
  CHECK(rendered("100%% of 'it'") == "100% of 'it'");
}

TEST_CASE("missing values are a dash, except for a query") {
  const AccessRecord empty;
  CHECK(rendered("%n %R %u %m %r %f %x %{X}e %{X}o", empty) == "- - - - - - - - -");
  CHECK(rendered("[%Q%q] %C %d", empty) == "[] 0.00 0.000");
}

TEST_CASE("client text cannot end the line or a quotation, or control a terminal") {
  AccessRecord record = sample();
  record.path = "/a\"b\nc\x1b[0m\xff";
  record.query = "\r\n%r";
  record.remote_address = "\n";
  CHECK(rendered("%R \"%r%Q%q\"", record) == R"(\x0a "/a\x22b\x0ac\x1b[0m\xff?\x0d\x0a%r")");
  CHECK(rendered("%{HTTP_X}e") == R"(a\x22b\x0ac\x5cd)");
  const std::string path(100000, 'x');
  record.path = path;
  CHECK(rendered("%r", record).size() < 2100);
  CHECK(rendered("json", record).size() < 3000);
}

TEST_CASE("credentials are never logged, whatever the format") {
  const auto shown = [](const char* header, const char* format = "%{HTTP_COOKIE}e") {
    AccessRecord record = sample();
    const char* const variables[] = {header, nullptr};
    record.variables = variables;
    return rendered(format, record);
  };
  CHECK(shown("HTTP_AUTHORIZATION=Basic c2VjcmV0", "%{HTTP_AUTHORIZATION}e") == "(hidden)");
  CHECK(shown("HTTP_PROXY_AUTHORIZATION=Basic c2VjcmV0", "%{HTTP_PROXY_AUTHORIZATION}e") ==
        "(hidden)");
  CHECK(shown("HTTP_REFERER=http://u:SECRET@h/x?a=1", "%{HTTP_REFERER}e") == "http://h/x?a=1");
  CHECK(shown("HTTP_COOKIE=a=1; b=2", "%{HTTP_COOKIE}e %{HTTP_AUTHORIZATION}e") == "a=1; b=2 -");
  CHECK(shown("HTTP_COOKIE=a=1; x-f-l-c=login+ann+12+34; b=2") == "a=1; x-f-l-c=(hidden)");
  CHECK(shown("HTTP_COOKIE=fossil-88c6bc2783dc=SECRET") == "fossil-88c6bc2783dc=(hidden)");
  CHECK(shown("HTTP_COOKIE=a=1; fossil-1=SECRET=/,SECRET; b=fossil-2;fossil-3=SECRET") ==
        "a=1; fossil-1=(hidden); b=fossil-2;fossil-3=(hidden)");
  CHECK(shown("HTTP_COOKIE=a=1, Fossil-1=SECRET, b=2") == "a=1, Fossil-1=(hidden)");
  CHECK(shown("HTTP_COOKIE=fossil-1; fossil-=; =;") == "fossil-1; fossil-=(hidden); =;");
  CHECK(shown("HTTP_COOKIE=fossil-1=SECRET; x-f-l-c=SECRET; b=2") ==
        "fossil-1=(hidden); x-f-l-c=(hidden)");
  CHECK(shown("HTTP_COOKIE= ; ,") == " ; ,");
}

TEST_CASE("an invalid format is refused with a reason") {
  CHECK(mistake("%R %z") == "unknown placeholder %z");
  CHECK(mistake("%\xff") == "unknown placeholder %\\xff");
  CHECK(mistake("%R %") == "the last % is not followed by a placeholder (write %% for a %)");
  CHECK(mistake("%{micro}") == "the last % is not followed by a placeholder (write %% for a %)");
  CHECK(mistake("%{micro d") == "%{ is not closed by }");
  CHECK(mistake("%{secs}d") ==
        "%d does not support \"secs\", only seconds, milli, milliseconds, micro, microseconds");
  CHECK(mistake("%{idle}C") == "%C does not support \"idle\", only total, user, system");
  CHECK(mistake("%{x}M") ==
        "%M does not support \"x\", only bytes, kilo, kilobytes, mega, megabytes");
  CHECK(mistake("%e") == "%e needs a name: %{NAME}e");
  CHECK(mistake("%{}o") == "%o needs a name: %{NAME}o");
  CHECK(mistake("%{child}p") == "%p does not support \"child\" in braces");
}

TEST_CASE("json is one object with everything") {
  const auto json = nlohmann::json::parse(rendered("json"));
  CHECK(json == nlohmann::json{{"time", "2026-03-04T05:06:07.123456Z"},
                               {"written", "2026-03-04T05:06:09.123456Z"},
                               {"pool", "www"},
                               {"pid", 42},
                               {"parent_pid", 41},
                               {"remote_address", "192.0.2.7"},
                               {"user", "ann"},
                               {"method", "POST"},
                               {"uri", "/team/tool"},
                               {"query", "a=1"},
                               {"status", 200},
                               {"content_length", 77},
                               {"reply_size", 12},
                               {"repository", "/srv/tool.fossil"},
                               {"operation", "push"},
                               {"request_id", "0af7"},
                               {"duration_us", 1234567},
                               {"cpu_user_us", 600000},
                               {"cpu_system_us", 17284},
                               {"memory_peak", 5243904}});
  AccessRecord record = sample();
  record.path = "/\"\n\xff";
  CHECK(nlohmann::json::parse(rendered("json", record))["uri"] == "/\"\n\ufffd");
}

TEST_CASE("CPU and memory are measured only if the format shows them") {
  CHECK_FALSE(AccessFormat::usual().wants_usage());
  CHECK(AccessFormat::compile("%C")->wants_usage());
  CHECK(AccessFormat::compile("%M")->wants_usage());
  CHECK(AccessFormat::compile("json")->wants_usage());
  CHECK_FALSE(AccessFormat::usual().wants_reply_header());
  CHECK(AccessFormat::compile("%{Allow}o")->wants_reply_header());
}
