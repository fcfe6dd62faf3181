#include "quarry/artifact/delta.h"

#include <doctest/doctest.h>

#include "support.h"

namespace quarry::artifact {
namespace {

constexpr std::size_t kLimit = 100'000'000;

void check_invalid(std::string_view source, std::string_view delta) {
  INFO("delta ", std::string(delta));
  const auto target = delta_apply(source, delta, kLimit);
  REQUIRE_FALSE(target);
  CHECK(target.error().code == ErrorCode::kInvalid);
  CHECK(target.error().message.starts_with("malformed delta: "));
}

TEST_CASE("copies and insertions build the target") {
  CHECK(delta_apply("abcdefgh", "0\n0;", kLimit) == "");
  CHECK(delta_apply("abcdefgh", "4\n4@2,1ZP6Lb;", kLimit) == "cdef");
  CHECK(delta_apply("", "4\n4:cdef1ZP6Lb;", kLimit) == "cdef");
  CHECK(delta_apply("abcdefgh", "4\n1@2,2:de1@5,1ZP6Lb;", kLimit) == "cdef");
  CHECK(delta_apply("f", "4\n0@1,3:cde0:1@0,1ZP6Lb;", kLimit) == "cdef");
}

TEST_CASE("a delta declares the size of its target") {
  CHECK(delta_output_size("4\nanything") == 4);
  CHECK(delta_output_size("~~\n") == 4095);
  CHECK(delta_output_size("3~~~~~\n") == 0xffffffffu);
  CHECK(delta_output_size("0000000003~~~~~\n") == 0xffffffffu);
  for (const char* not_delta :
       {"", "\n", "4", "4 \n", "-1\n", "40000 0\n", "400000\n", "zzzzzzz\n"}) {
    CHECK_FALSE(delta_output_size(not_delta));
  }
}

TEST_CASE("a target above the limit is refused before it is built") {
  const auto target = delta_apply("abcdefgh", "4\n4@2,1ZP6Lb;", 3);
  REQUIRE_FALSE(target);
  CHECK(target.error().code == ErrorCode::kLimit);
  CHECK(delta_apply("", "3~~~~~\n", kLimit).error().code == ErrorCode::kLimit);
}

TEST_CASE("a malformed delta is refused") {
  const std::string delta = "4\n1@2,2:de1@5,1ZP6Lb;";
  for (std::size_t size = 0; size < delta.size(); ++size) {
    check_invalid("abcdefgh", delta.substr(0, size));
  }
  for (const char* malformed :
       {// a copy beyond the source, also with numbers that would wrap around in 32 bits
        "4\n4@5,1ZP6Lb;", "4\n4@9,1ZP6Lb;", "4\n4@3~~~~~,1ZP6Lb;", "3~~~~\n3~~~~~@4,1ZP6Lb;",
        // size differs from the declared size
        "3\n4@2,1ZP6Lb;", "5\n4@2,1ZP6Lb;",
        // wrong checksum
        "4\n4@2,1ZP6Lc;",
        // invalid numbers
        "4\n400000@2,1ZP6Lb;", "4\n4@400002,1ZP6Lb;", "4\n4@2,400000;", "4\n@2,1ZP6Lb;",
        "4\n4@,1ZP6Lb;", "4\n4@2,;",
        // unknown command, or bytes after the checksum
        "4\n4!2,1ZP6Lb;", "4\n4@2;1ZP6Lb;", "4\n4@2,1ZP6Lb;\n", "4\n4@2, 1ZP6Lb;"}) {
    check_invalid("abcdefgh", malformed);
  }
  for (const char* malformed : {"4\n4@0,1ZP6Lb;", "4\n5:cdef", "3~~~\n3~~~~~:cdef1ZP6Lb;",
                                "3\n4:cdef1ZP6Lb;", "0\n4:cdef1ZP6Lb;", "4\n0;"}) {
    check_invalid("", malformed);
  }
}

void check_round_trip(std::string_view source, std::string_view target) {
  const std::string delta = delta_create(source, target);
  CHECK(delta_output_size(delta) == target.size());
  const auto made = delta_apply(source, delta, target.size());
  REQUIRE(made);
  CHECK(*made == target);
}

TEST_CASE("a created delta builds the target") {
  test::Random random;
  INFO("seed ", random.seed());
  for (int round = 0; round < 200; ++round) {
    const std::string source =
        round % 2 ? random.text(random.below(5000)) : random.bytes(random.below(100));
    check_round_trip(source, random.edited(source));
    check_round_trip(source, random.text(random.below(100)));
  }
}

TEST_CASE("deltas between empty and tiny artifacts are right") {
  test::Random random;
  INFO("seed ", random.seed());
  for (std::size_t source = 0; source < 40; ++source) {
    for (std::size_t target = 0; target < 40; ++target) {
      const std::string bytes = random.bytes(80);
      check_round_trip(bytes.substr(0, source), bytes.substr(0, target));
      check_round_trip(bytes.substr(7, source), bytes.substr(0, target));
    }
  }
}

TEST_CASE("unchanged, slightly changed and moved content makes a small delta") {
  test::Random random;
  INFO("seed ", random.seed());
  const std::string text = random.text(1'000'000);
  CHECK(delta_create(text, text).size() < 25);
  const std::string source = random.bytes(100'000);
  for (const std::size_t at :
       {std::size_t{0}, std::size_t{1}, std::size_t{50'001}, source.size()}) {
    std::string target = source;
    target.insert(at, "a line that was not there\n");
    CHECK(delta_create(source, target).size() < 80);
    CHECK(delta_create(target, source).size() < 60);
  }
  const std::string a = random.bytes(5000);
  const std::string b = random.bytes(5000);
  CHECK(delta_create(a + b, b + a).size() < 40);
}

TEST_CASE("runs of equal blocks need neither long deltas nor much time") {
  const std::string zeros(20'000'000, '\0');
  std::string specked = zeros;
  for (std::size_t at = 999; at < specked.size(); at += 100'000) specked[at] = 'x';
  check_round_trip(zeros, specked);
  check_round_trip(specked, zeros);
  CHECK(delta_create(zeros, specked).size() < 200 * 20);
}

TEST_CASE("a chain of a thousand deltas leads from the first version to the last") {
  test::Random random;
  INFO("seed ", random.seed());
  std::string version = random.text(3000);
  std::string rebuilt = version;
  for (int i = 0; i < 1000; ++i) {
    const std::string next = random.edited(version);
    auto made = delta_apply(rebuilt, delta_create(version, next), next.size());
    REQUIRE(made);
    rebuilt = std::move(*made);
    version = next;
  }
  CHECK(rebuilt == version);
}

TEST_CASE("a damaged delta gives an error or the same target") {
  test::Random random;
  INFO("seed ", random.seed());
  const std::string source = random.text(2000);
  const std::string target = random.edited(source);
  const std::string delta = delta_create(source, target);
  for (int round = 0; round < 5000; ++round) {
    std::string damaged = delta;
    damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
    const auto made = delta_apply(source, damaged, kLimit);
    if (!made) CHECK(made.error().code != ErrorCode::kIo);
  }
}

TEST_CASE("fossil applies deltas created here, and the other way round") {
  if (!test::have_fossil()) return;
  test::Random random;
  INFO("seed ", random.seed());
  const test::TempDir dir;
  for (int round = 0; round < 12; ++round) {
    const std::string source = random.text(1 + random.below(20'000));
    std::string target = random.edited(source);
    target += "end";  // fossil does not create deltas for an empty target
    dir.write("source", source);
    dir.write("target", target);
    dir.write("ours", delta_create(source, target));
    dir.fossil("test-delta-apply source ours made");
    CHECK(dir.read("made") == target);
    dir.fossil("test-delta-create source target theirs");
    CHECK(delta_apply(source, dir.read("theirs"), kLimit) == target);
  }
}

}  // namespace
}  // namespace quarry::artifact
