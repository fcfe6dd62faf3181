// Tests which texts are parsed as structural artifacts.
#include <doctest/doctest.h>
#include <fmt/core.h>
#include <time.h>

#include <cctype>
#include <functional>
#include <limits>

#include "quarry/artifact/digest.h"
#include "quarry/artifact/structural.h"
#include "structural_cases.h"
#include "support.h"

namespace quarry::artifact {
namespace {

bool is_name(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower) {
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return HashName::parse(lower).has_value();
}

TEST_CASE("each text has the expected type, or none") {
  for (const test::StructuralCase& each : test::structural_cases()) {
    INFO(each.name);
    const auto parsed = parse_structural(each.content);
    CHECK(parsed.has_value() == each.type.has_value());
    if (parsed && each.type) CHECK(parsed->type == *each.type);
  }
}

TEST_CASE("fossil's verdict on each text is the same" * doctest::test_suite("long")) {
  if (!test::have_fossil()) return;
  const test::TempDir dir;
  const auto cases = test::structural_cases();
  for (std::size_t i = 0; i < cases.size(); ++i) dir.write(std::to_string(i), cases[i].content);
  std::string said = dir.shell(
      "i=0; while [ -e $i ]; do fossil test-parse-manifest $i; echo \"== $i\"; i=$((i + 1)); done");
  for (std::size_t i = 0; i < cases.size(); ++i) {
    INFO(cases[i].name);
    const std::string mark = "== " + std::to_string(i) + "\n";
    const std::size_t end = said.find(mark);
    REQUIRE(end != std::string::npos);
    const bool worked = said.substr(0, end).ends_with("manifest_parse() worked\n");
    CHECK(worked == cases[i].type.has_value());
    said.erase(0, end + mark.size());
  }
}

/// Returns TEXT with "SSH" instead of each "PGP".
std::string with_ssh(std::string text) {
  for (std::size_t at = 0; (at = text.find("PGP", at)) != std::string::npos;) {
    text.replace(at, 3, "SSH");
  }
  return text;
}

TEST_CASE("an SSH signature is like an OpenPGP signature") {
  int signed_count = 0;
  for (const test::StructuralCase& each : test::structural_cases()) {
    if (!each.content.contains("PGP")) continue;
    INFO(each.name);
    ++signed_count;
    const auto parsed = parse_structural(with_ssh(each.content));
    CHECK(parsed.has_value() == each.type.has_value());
    if (parsed && each.type) CHECK(parsed->type == *each.type);
  }
  CHECK(signed_count > 10);
  const std::string artifact = test::with_end_card("C hello\nD 2020-01-02T03:04:05\nU joe\n");
  for (const char* head : {"PGP", "SSH"}) {
    for (const char* tail : {"PGP", "SSH"}) {
      CHECK(
          parse_structural(fmt::format("-----BEGIN {} SIGNED MESSAGE-----\n\n{}"
                                       "-----BEGIN {} SIGNATURE-----\nxyz\n",
                                       head, artifact, tail)));
    }
  }
}

TEST_CASE("the date now makes an artifact plain data, unlike in fossil") {
  const std::string artifact = test::with_end_card("C hello\nD now\nU joe\n");
  CHECK_FALSE(parse_structural(artifact));
  CHECK(has_structural_frame(artifact));
}

TEST_CASE("every artifact has the frame of an artifact, and plain files do not") {
  for (const test::StructuralCase& each : test::structural_cases()) {
    INFO(each.name);
    if (each.type) CHECK(has_structural_frame(each.content));
  }
  // Only fossil before 2.26 accepts these two signatures. It ignores SSH signatures, and compares
  // fewer characters of PGP signatures.
  const std::string head = "-----BEGIN PGP SIGNED MESSAGE-----\n\n" +
                           test::with_end_card("C hello\nD 2020-01-02T03:04:05\nU joe\n");
  for (const char* tail :
       {"-----BEGIN PGP SIGNATURE-----\nxyz\n-----BEGIN SSH SIGNATURE-----\nxyz\n",
        "-----BEGIN PGP SIGNATURE\nxyz\n"}) {
    CHECK_FALSE(parse_structural(head + tail));
    CHECK(has_structural_frame(head + tail));
  }
  CHECK_FALSE(has_structural_frame("int main() { return 0; }\n"));
  CHECK_FALSE(has_structural_frame("C hello\nZ 00000000000000000000000000000000\n"));
}

TEST_CASE("the Z card detects truncation and any single changed byte") {
  const std::string good = test::with_end_card("C hello\nD 2020-01-02T03:04:05\nU joe\n");
  REQUIRE(parse_structural(good));
  for (std::size_t size = 0; size < good.size(); ++size) {
    CHECK_FALSE(parse_structural(good.substr(0, size)));
    CHECK_FALSE(parse_structural(good.substr(good.size() - size)));
  }
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string changed = good;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    CHECK_FALSE(parse_structural(changed));
  }
}

TEST_CASE("damaged cards with a correct Z card neither crash nor give views outside the text") {
  test::Random random;
  INFO("seed ", random.seed());
  const auto cases = test::structural_cases();
  for (int round = 0; round < 20'000; ++round) {
    std::string text = cases[random.below(cases.size())].content;
    if (text.size() < 36) continue;
    text.resize(text.size() - 35);
    for (std::size_t n = 1 + random.below(3); n > 0; --n) {
      static constexpr char kLikely[] = " \n\\/.*+-0AFTWZ\0";
      const std::size_t at = random.below(text.size());
      const char likely = kLikely[random.below(sizeof kLikely)];
      if (random.below(2) != 0) {
        text[at] = likely;
      } else {
        text.insert(text.begin() + static_cast<std::ptrdiff_t>(at), likely);
      }
    }
    const auto parsed = parse_structural(test::with_end_card(text));
    if (!parsed) continue;
    for (const FileCard& file : parsed->files) CHECK(is_simple_path(file.name));
    for (const std::string_view parent : parsed->parents) CHECK(is_name(parent));
    for (const std::string_view member : parsed->members) CHECK(is_name(member));
  }
}

/// Returns the processor time of ACTION in seconds, as the minimum of three runs.
double time_of(const std::function<void()>& action) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
  };
  double best = std::numeric_limits<double>::infinity();
  for (int run = 0; run < 3; ++run) {
    const double begin = now();
    action();
    best = std::min(best, now() - begin);
  }
  return best;
}

double time_to_parse(const std::string& content, bool expected) {
  return time_of([&] { CHECK(parse_structural(content).has_value() == expected); });
}

TEST_CASE("a large file is rejected without reading it") {
  const std::string card_first = "C " + std::string(20'000'000, 'x') + "\n";
  const std::string almost_signed =
      "-----BEGIN PGP SIGNED MESSAGE-----\n\n\n" + std::string(20'000'000, '\n');
  const double reading = time_of([&] { CHECK(md5_hex(card_first).size() == 32); });
  CHECK(time_to_parse(std::string(20'000'000, '\n'), false) < reading / 100);
  CHECK(time_to_parse(almost_signed, false) < reading / 100);
  CHECK(time_to_parse(with_ssh(almost_signed), false) < reading / 100);
  CHECK(time_to_parse(card_first, false) < reading / 100);
  CHECK(time_to_parse(card_first + "Z 0123456789abcdef0123456789abcdeX", false) < reading / 100);
}

std::string many_cards(char letter, int count) {
  std::string cards;
  for (int i = 0; i < count; ++i) cards += fmt::format("{} {:07}\n", letter, i);
  return cards;
}

std::string check_in_of(int files, const std::string& last = "") {
  return test::with_end_card("B " + std::string(40, 'a') + "\nC c\nD 2020-01-02T03:04:05\n" +
                             many_cards('F', files) + last + "U joe\n");
}

std::string ticket_change_of(int fields) {
  return test::with_end_card("D 2020-01-02T03:04:05\n" + many_cards('J', fields) + "K " +
                             std::string(40, 'a') + "\nU joe\n");
}

TEST_CASE("ten megabytes of cards are parsed in linear time") {
  // In quadratic time, ten times as many cards would take 100 times as long. The test allows a
  // factor of 40. Larger inputs would mainly measure memory allocation.
  constexpr int kFew = 25'000;
  constexpr int kMany = 250'000;
  CHECK(time_to_parse(check_in_of(kMany), true) < 40 * time_to_parse(check_in_of(kFew), true));
  CHECK(time_to_parse(check_in_of(kMany, "F 0\n"), false) <
        40 * time_to_parse(check_in_of(kFew, "F 0\n"), false));
  CHECK(time_to_parse(ticket_change_of(kMany), true) <
        40 * time_to_parse(ticket_change_of(kFew), true));
}

}  // namespace
}  // namespace quarry::artifact
