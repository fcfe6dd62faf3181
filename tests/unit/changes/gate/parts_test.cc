// Tests the parts of a gate that do not start programs.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "gate/bounded_output.h"
#include "gate/gate_command.h"
#include "quarry/base/result.h"
#include "quarry/changes/gate.h"
#include "temporary_folder.h"

using namespace quarry::changes;
using quarry::base::ErrorCode;

namespace {

GateOptions options_of(std::vector<std::string> command = {"/etc/quarry/gate", "x"}) {
  GateOptions options;
  options.command = std::move(command);
  return options;
}

bool stand_in(const std::vector<std::string>& words, const std::vector<std::string>& part) {
  return !std::ranges::search(words, part).empty();
}

}  // namespace

TEST_CASE("a short output is kept unchanged") {
  BoundedOutput output(100);
  output.add("one\n");
  output.add("two\tü\n");
  CHECK(output.text() == "one\ntwo\tü\n");
}

TEST_CASE("the beginning and the end of a long output are kept") {
  BoundedOutput output(20);
  for (int i = 0; i < 100'000; ++i) output.add("0123456789");
  CHECK(output.text() == "0123456789\n[999980 bytes omitted]\n0123456789");
  BoundedOutput at_once(20);
  at_once.add(std::string(15, 'a') + std::string(25, 'b'));
  CHECK(at_once.text() == "aaaaaaaaaa\n[20 bytes omitted]\nbbbbbbbbbb");
  BoundedOutput full(20);
  full.add("aaaaaaaaaabbbbbbbbbb");
  CHECK(full.text() == "aaaaaaaaaabbbbbbbbbb");
}

TEST_CASE("output cannot control a terminal") {
  BoundedOutput output(1000);
  output.add(std::string_view("a\x1b[2Jb\r\nc\0d\xff\\\r", 14));
  CHECK(output.text() == "a\\x1b[2Jb\nc\\x00d\\xff\\\\x0d");
}

TEST_CASE("a program that is in the sandbox anyway is not mounted again") {
  for (const char* program : {"/usr/bin/make", "/bin/true", "make", "./test.sh"}) {
    const auto words = sandbox_words(options_of({program}), {}, std::nullopt);
    CHECK(std::ranges::count(words, program) == 1);
  }
  auto options = options_of({"/opt/tools/gate"});
  options.readable = {"/opt/tools/"};
  const auto words = sandbox_words(options, {}, std::nullopt);
  CHECK(std::ranges::count(words, "/opt/tools/gate") == 1);
  CHECK(stand_in(words, {"--ro-bind", "/opt/tools/", "/opt/tools/"}));
}

TEST_CASE("the environment contains the case, and nothing else") {
  GateCase gate_case;
  gate_case.change_set = "CS";
  gate_case.branch = "a b";
  gate_case.author = "x=y";
  const auto words = sandbox_words(options_of(), gate_case, std::nullopt);
  CHECK(stand_in(words, {"--setenv", "QUARRY_CHANGE_SET", "CS"}));
  CHECK(stand_in(words, {"--setenv", "QUARRY_BRANCH", "a b"}));
  CHECK(stand_in(words, {"--setenv", "QUARRY_TIP", ""}));
  CHECK(stand_in(words, {"--setenv", "QUARRY_AUTHOR", "x=y"}));
  CHECK(stand_in(words, {"--setenv", "QUARRY_FILES", "/gate/files"}));
  CHECK(std::ranges::count(words, "--setenv") == 11);
}

TEST_CASE("invalid options are rejected") {
  CHECK(check_options(options_of()));
  CHECK_FALSE(check_options(options_of({})));
  auto options = options_of();
  options.readable = {"relative"};
  CHECK_FALSE(check_options(options));
  options = options_of();
  options.disk = 0;
  CHECK_FALSE(check_options(options));
}

TEST_CASE("options that would expose a repository to a gate are rejected") {
  auto options = options_of();
  const auto is_refused = [&] {
    const auto checked = check_options(options);
    return !checked && checked.error().code == ErrorCode::kInvalid;
  };
  options.hidden = {"/srv/fossil"};
  CHECK_FALSE(is_refused());
  for (const char* readable : {"/srv", "/srv/fossil", "/srv/fossil/", "/", "/srv/fossil/tools"}) {
    CAPTURE(readable);
    options.readable = {readable};
    CHECK(is_refused());
  }
  options.readable = {"/srv/fossils", "/opt"};
  CHECK_FALSE(is_refused());
  options.hidden = {"/usr/share/fossil"};
  CHECK(is_refused());
}

TEST_CASE("a gate's user must exist and not be root") {
  auto options = options_of();
  options.user = "no-such-user";
  CHECK(gate_user(options).error().code == ErrorCode::kNotFound);
  options.user = "root";
  CHECK_FALSE(gate_user(options));
  options.user = "nobody";
  if (::geteuid() == 0) {
    CHECK(gate_user(options)->value().user == 65534);
    options.user.clear();
    CHECK_FALSE(gate_user(options));
  } else {
    CHECK(gate_user(options).error().code == ErrorCode::kDenied);
    options.user.clear();
    CHECK_FALSE(gate_user(options)->has_value());
  }
}

TEST_CASE("a program that cannot be executed is named before a gate is started") {
  const TemporaryFolder folder;
  const auto write = [&](const char* name, const char* text, int mode) {
    const std::string path = folder / name;
    std::ofstream(path) << text;
    ::chmod(path.c_str(), static_cast<mode_t>(mode));
    return path;
  };
  for (const std::string& good :
       {std::string("sh"), std::string("/bin/sh"), std::string("./in/the/tree"),
        write("script", "#! /bin/sh -e\n", 0755), write("empty", "", 0755)}) {
    CAPTURE(good);
    CHECK(check_program(good, {}));
  }
  for (const auto& [bad, why] :
       {std::pair(std::string("no-such-program"), "does not exist"),
        std::pair((folder / "none").string(), "does not exist"),
        std::pair(write("plain", "#!/bin/sh\n", 0644), "is not an executable file"),
        std::pair(std::string("/usr"), "is not an executable file"),
        std::pair(write("old", "#!/nosuch/perl -w\n", 0755),
                  "its interpreter /nosuch/perl does not exist")}) {
    CAPTURE(bad);
    const auto checked = check_program(bad, {});
    REQUIRE_FALSE(checked);
    CHECK(checked.error().code == ErrorCode::kDenied);
    CHECK(checked.error().message.find(why) != std::string::npos);
  }
  const std::string own = write("own", "", 0700);
  CHECK(check_program(own, {}));
  CHECK(check_program(own, GateUser{.user = ::geteuid(), .group = 1}));
  CHECK_FALSE(check_program(own, GateUser{.user = ::geteuid() + 1, .group = ::getegid() + 1}));
}
