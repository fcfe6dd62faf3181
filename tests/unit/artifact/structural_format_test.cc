#include <doctest/doctest.h>

#include "quarry/artifact/structural.h"
#include "structural_cases.h"
#include "support.h"

namespace quarry::artifact {
namespace {

using namespace std::string_literals;

constexpr base::UnixMillis kFormatMillis{1'577'934'245'678};

HashName name_of(std::string_view content, HashAlgorithm algorithm = HashAlgorithm::kSha3_256) {
  return HashName::of(algorithm, content);
}

TEST_CASE("the first check-in is written as fossil writes it") {
  const std::string text =
      format_check_in({.comment = "initial empty check-in",
                       .date = kFormatMillis,
                       .user = "root",
                       .repository_checksum = "d41d8cd98f00b204e9800998ecf8427e",
                       .tags = {{'*', "sym-trunk", ""}, {'*', "branch", "trunk"}}});
  CHECK(text == test::with_end_card("C initial\\sempty\\scheck-in\n"
                                    "D 2020-01-02T03:04:05.678\n"
                                    "R d41d8cd98f00b204e9800998ecf8427e\n"
                                    "T *branch * trunk\n"
                                    "T *sym-trunk *\n"
                                    "U root\n"));
}

TEST_CASE("a formatted check-in is parsed back unchanged") {
  const HashName one = name_of("1");
  const HashName two = name_of("2", HashAlgorithm::kSha1);
  const std::string text = format_check_in({.comment = "two words\nand a \\",
                                            .date = kFormatMillis,
                                            .user = "joe blow",
                                            .files = {{"z", one, 'x', ""},
                                                      {"a b", two, 0, "old name"},
                                                      {"link", two, 'l', "z/y"},
                                                      {"a", one, 0, ""}},
                                            .parents = {two, one},
                                            .tags = {{'+', "b c", "d e"}, {'*', "x", ""}}});
  const auto it = parse_structural(text);
  REQUIRE(it);
  CHECK(it->type == StructuralType::kCheckIn);
  CHECK(it->comment == "two words\nand a \\");
  CHECK(it->date == kFormatMillis);
  CHECK(it->user == "joe blow");
  CHECK(it->files == std::vector<FileCard>{{"a", one.str(), "", 0},
                                           {"a b", two.str(), "old name", 0},
                                           {"link", two.str(), "z/y", 'l'},
                                           {"z", one.str(), "", 'x'}});
  CHECK(it->parents == std::vector<std::string_view>{two.str(), one.str()});
  CHECK(it->repository_checksum.empty());
  CHECK(it->tags == std::vector<TagCard>{{'*', "x", "", "", false}, {'+', "b c", "", "d e", true}});
}

TEST_CASE("cherrypicks and backouts are written between parents and checksum") {
  const HashName low = std::min(name_of("1"), name_of("2"));
  const HashName high = std::max(name_of("1"), name_of("2"));
  const std::string text =
      format_check_in({.comment = "c",
                       .date = kFormatMillis,
                       .user = "joe",
                       .parents = {low},
                       .cherrypicks = {{true, low}, {true, high}, {false, high}},
                       .repository_checksum = "d41d8cd98f00b204e9800998ecf8427e"});
  CHECK(text == test::with_end_card("C c\nD 2020-01-02T03:04:05.678\nP " + std::string(low.str()) +
                                    "\nQ +" + std::string(high.str()) + "\nQ -" +
                                    std::string(low.str()) + "\nQ -" + std::string(high.str()) +
                                    "\nR d41d8cd98f00b204e9800998ecf8427e\nU joe\n"));
  const auto it = parse_structural(text);
  REQUIRE(it);
  CHECK(it->cherrypicks == std::vector<CherrypickCard>{{false, high.str(), ""},
                                                       {true, low.str(), ""},
                                                       {true, high.str(), ""}});
}

TEST_CASE("a cluster is sorted and has no duplicates") {
  const HashName one = name_of("1");
  const HashName two = name_of("2", HashAlgorithm::kSha1);
  const std::string text = format_cluster({one, two, one});
  CHECK(text == test::with_end_card("M " + std::string(std::min(one, two).str()) + "\nM " +
                                    std::string(std::max(one, two).str()) + "\n"));
  const auto it = parse_structural(text);
  REQUIRE(it);
  CHECK(it->members.size() == 2);
}

std::string awkward_text(test::Random& random) {
  static constexpr std::string_view kBytes = "ab /.\\\n\r\t\v\f*+-\xc3\xa9s0";
  std::string text;
  for (std::size_t n = random.below(12); n > 0; --n) text += kBytes[random.below(kBytes.size())];
  return text;
}

TEST_CASE("formatted artifacts are parsed back, also by fossil") {
  test::Random random;
  INFO("seed ", random.seed());
  const test::TempDir dir;
  for (int round = 0; round < 200; ++round) {
    CheckInText text{.comment = awkward_text(random),
                     .date = {static_cast<std::int64_t>(random.below(4'000'000'000'000))},
                     .user = awkward_text(random)};
    for (std::size_t i = random.below(5); i > 0; --i) {
      std::string name = std::to_string(i) + awkward_text(random) + "x";
      if (!is_simple_path(name)) continue;
      text.files.push_back({name, name_of(name), "\0xl"[random.below(3)], ""});
    }
    for (std::size_t i = random.below(3); i > 0; --i) text.parents.push_back(name_of("p"));
    for (std::size_t i = random.below(4); i > 0; --i) {
      text.tags.push_back({"+-*"[random.below(3)], "t" + std::to_string(i) + awkward_text(random),
                           awkward_text(random)});
    }
    const std::string artifact = format_check_in(text);
    const auto it = parse_structural(artifact);
    REQUIRE(it);
    CHECK(it->comment == text.comment);
    CHECK(it->date == text.date);
    CHECK(it->user == (text.user.empty() ? "anonymous" : text.user));
    CHECK(it->files.size() == text.files.size());
    CHECK(it->tags.size() == text.tags.size());
    if (!test::have_fossil() || round % 20 != 0) continue;
    dir.write("artifact", artifact);
    CHECK(dir.fossil("test-parse-manifest artifact").ends_with("manifest_parse() worked\n"));
  }
}

}  // namespace
}  // namespace quarry::artifact
