#include "quarry/master/process_settings.h"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <map>

#include "child/environment.h"
#include "config/directives.h"
#include "config/section_checks.h"

using namespace quarry::master;

namespace {

std::string refusal(const std::string& key, const std::string& value) {
  PoolConfig pool;
  const auto set = set_directive(pool, key, value);
  return set ? "" : set.error().message;
}

ProcessSettings settings_with(const std::string& key, const std::string& value) {
  PoolConfig pool;
  REQUIRE(set_directive(pool, key, value));
  return pool.process;
}

std::map<std::string, std::string> as_map(const Environment& environment) {
  return {environment.begin(), environment.end()};
}

/// Returns the messages for SETTINGS. Errors begin with "!", and notices with "?".
std::string findings_of(ProcessSettings& settings, bool root) {
  std::string all;
  check_process(settings, root,
                {[&](const auto&, const std::string& text) { all += "!" + text; },
                 [&](const auto&, const std::string& text) { all += "?" + text; }});
  return all;
}

}  // namespace

TEST_CASE("a priority is a whole number from -19 to 20") {
  CHECK(settings_with("process.priority", "-19").priority == -19);
  CHECK(settings_with("process.priority", "20").priority == 20);
  CHECK(refusal("process.priority", "-20") ==
        "process.priority: \"-20\" is not a whole number from -19 to 20");
  for (const char* wrong : {"21", "", "-", "--1", "high", "1.5"}) {
    CAPTURE(wrong);
    CHECK_FALSE(refusal("process.priority", wrong).empty());
  }
}

TEST_CASE("the core limit is a number or unlimited, that of files a number") {
  CHECK(settings_with("rlimit_core", "unlimited").limits.core == RLIM_INFINITY);
  CHECK(settings_with("rlimit_core", "0").limits.core == 0U);
  CHECK_FALSE(refusal("rlimit_core", "endless").empty());
  CHECK_FALSE(refusal("rlimit_files", "unlimited").empty());
}

TEST_CASE("a variable is set as written, or taken from the master's environment") {
  const auto in_child = [](const std::string& value) {
    return as_map(environment_of(settings_with("env[A_1]", value), std::nullopt,
                                 {"ORIGIN=of the master", "ORIGIN_2=other"}))
        .at("A_1");
  };
  CHECK(in_child("x = y") == "x = y");
  CHECK(in_child("$ORIGIN") == "of the master");
  CHECK(in_child("$NONE") == "");
  for (const char* wrong : {"env[]", "env[1A]", "env[A B]", "env[A=B]"}) {
    CAPTURE(wrong);
    CHECK_FALSE(refusal(wrong, "x").empty());
  }
}

TEST_CASE("the master's environment is cleared unless clear_env is off") {
  ProcessSettings settings = settings_with("env[MINE]", "1");
  CHECK(as_map(environment_of(settings, std::nullopt, {"SECRET=s", "MINE=2"})) ==
        std::map<std::string, std::string>{{"MINE", "1"}});
  settings.clear_env = false;
  CHECK(as_map(environment_of(settings, std::nullopt,
                              {"SECRET=s", "MINE=2", "NOTIFY_SOCKET=/run/systemd/notify",
                               "WATCHDOG_PID=1", "WATCHDOG_USEC=30000000"})) ==
        std::map<std::string, std::string>{{"MINE", "1"}, {"SECRET", "s"}});
}

TEST_CASE("a child that changes its user gets that user's USER and HOME, unless they are set") {
  const ProcessSettings settings = settings_with("env[HOME]", "/elsewhere");
  CHECK(as_map(environment_of(settings, Credentials{"fossil", 7, 7, "/srv", {7}}, {"USER=root"})) ==
        std::map<std::string, std::string>{{"HOME", "/elsewhere"}, {"USER", "fossil"}});
}

TEST_CASE("without root a raised priority is ignored, and a chroot is a mistake") {
  ProcessSettings settings = settings_with("process.priority", "-5");
  CHECK(findings_of(settings, true).empty());
  CHECK(findings_of(settings, false) ==
        "?process.priority below 0 is ignored: quarryd does not run as root");
  CHECK_FALSE(settings.priority);
  settings = settings_with("process.priority", "5");
  CHECK(findings_of(settings, false).empty());
  CHECK(settings.priority == 5);
  settings = settings_with("chroot", "/");
  CHECK(findings_of(settings, false) ==
        "!chroot needs root: start quarryd as root, or remove chroot");
  CHECK(findings_of(settings, true).empty());
}

TEST_CASE("the working folder is inside the new root") {
  ProcessSettings settings = settings_with("chroot", "/usr");
  settings.chdir = "/bin";
  CHECK(findings_of(settings, true).empty());
  settings.chdir = "/usr/bin-that-is-not-there";
  CHECK(findings_of(settings, true) == "!chdir: /usr/usr/bin-that-is-not-there is not a folder");
  settings.chroot = "/nowhere";
  CHECK(findings_of(settings, true) == "!chroot: /nowhere is not a folder");
}
