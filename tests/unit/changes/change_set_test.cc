#include "quarry/changes/change_set.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <string>
#include <vector>

#include "quarry/base/result.h"

using namespace quarry::changes;
using quarry::base::ErrorCode;
using quarry::base::UnixMillis;

namespace {

constexpr std::string_view kName =
    "0123456789abcdef_400000006553f10a075bcd15_4711_db1.example_DC_ann";

ChangeSetId id(char digit) {
  return *ChangeSetId::parse(std::string(16, digit));
}

Meta full_meta() {
  return {.type = MoveType::kBugFix,
          .target = "trunk",
          .files = {"a.txt", "folder/with space.c", "##odd", "\\odd", "ünï"},
          .dependencies = {id('a'), id('b')},
          .approval = "TICKET-17",
          .precursors = {id('c')},
          .comment = "What it does\n\n##not a section\n\\n\tindented\nlast",
          .author = "Ann Other",
          .base = "trunk~",
          .renames = {{"a.txt", "folder/with space.c"}, {"\\odd", "ünï"}},
          .merges = {{MergeKind::kMerge,
                      quarry::artifact::HashName::of(quarry::artifact::HashAlgorithm::kSha1, "")},
                     {MergeKind::kBackout, quarry::artifact::HashName::of(
                                               quarry::artifact::HashAlgorithm::kSha3_256, "")}},
          .others = {{"reviewed-by", {"bob", "##carol"}}, {"x_9", {"y"}}}};
}

/// Returns the error for the meta file TEXT.
std::string error_of(std::string_view text, ErrorCode code = ErrorCode::kInvalid) {
  const auto meta = Meta::parse(text);
  REQUIRE_FALSE(meta);
  CHECK(meta.error().code == code);
  return meta.error().message;
}

std::string with(std::string_view more) {
  return "##movetype\nDC\n##target\ntrunk\n##files\na\n" + std::string(more);
}

}  // namespace

TEST_CASE("a name has six parts and one spelling") {
  const auto name = ChangeSetName::parse(kName);
  REQUIRE(name);
  CHECK(name->id.str() == "0123456789abcdef");
  CHECK(name->pid == 4711);
  CHECK(name->host == "db1.example");
  CHECK(name->type == MoveType::kDevelopment);
  CHECK(name->extra == "ann");
  CHECK(name->text() == kName);
  CHECK(time_of_tai64n(name->tai) == UnixMillis{1'700'000'000'123});
  CHECK(ChangeSetName::parse("0123456789abcdef_400000006553f10a075bcd15_0_h_RB_"));
}

TEST_CASE("an invalid name of a change set is rejected") {
  for (const std::string_view text :
       {"", "_____", "0123456789abcdef_400000006553f10a075bcd15_1_h_DC",
        "0123456789abcdef_400000006553f10a075bcd15_1_h_DC_a_b",
        "0123456789abcdeF_400000006553f10a075bcd15_1_h_DC_",
        "0123456789abcde_400000006553f10a075bcd15_1_h_DC_",
        "0123456789abcdef_400000006553f10a3b9aca00_1_h_DC_",  // 1,000,000,000 nanoseconds
        "0123456789abcdef_000000006553f10a075bcd15_1_h_DC_",
        "0123456789abcdef_ffffffffffffffff075bcd15_1_h_DC_",
        "0123456789abcdef_400000006553f10a075bcd15_01_h_DC_",
        "0123456789abcdef_400000006553f10a075bcd15_-1_h_DC_",
        "0123456789abcdef_400000006553f10a075bcd15_-0_h_DC_",
        "0123456789abcdef_400000006553f10a075bcd15_99999999999999999999_h_DC_",
        "0123456789abcdef_400000006553f10a075bcd15__h_DC_",
        "0123456789abcdef_400000006553f10a075bcd15_1__DC_",
        "0123456789abcdef_400000006553f10a075bcd15_1_h_dc_",
        "0123456789abcdef_400000006553f10a075bcd15_1_h/.._DC_",
        "0123456789abcdef_400000006553f10a075bcd15_1_h_DC_a b",
        "0123456789abcdef_400000006553f10a075bcd15_1_h_DC_"
        "12345678901234567890123456789012345678901"}) {
    CAPTURE(text);
    CHECK_FALSE(ChangeSetName::parse(text));
  }
}

TEST_CASE("labels sort by time") {
  const std::vector<std::string> labels = {tai64n({0}), tai64n({999}), tai64n({999}, 5),
                                           tai64n({1000}), tai64n({1'700'000'000'123})};
  for (std::size_t i = 1; i < labels.size(); ++i) CHECK(labels[i - 1] < labels[i]);
  CHECK(labels[0] == "400000000000000a00000000");
  CHECK(time_of_tai64n(labels[2]) == UnixMillis{999});
}

TEST_CASE("random ids differ") {
  const ChangeSetId one = ChangeSetId::random();
  CHECK(one != ChangeSetId::random());
  CHECK(ChangeSetId::parse(one.str()) == one);
}

TEST_CASE("invalid characters are removed from parts of names") {
  CHECK(name_part("ann_b/../\n @x.y-z+1") == "annb..@x.y-z+1");
  CHECK(name_part("ü").empty());
  CHECK(name_part(std::string(100, 'a')).size() == kMaxNamePart);
}

TEST_CASE("every section of a meta file is read as written") {
  const Meta meta = full_meta();
  const auto again = Meta::parse(meta.text());
  REQUIRE(again);
  CHECK(*again == meta);
  CHECK(again->text() == meta.text());
}

TEST_CASE("blank lines, a missing last newline and empty sections are ignored") {
  const auto meta = Meta::parse(
      "\n##movetype\n\nEM\n##files\n\na\n\nb\n##approval\n\n##comment\n\n\nx\n\ny\n\n##target\nt");
  REQUIRE(meta);
  CHECK(meta->type == MoveType::kEmergency);
  CHECK(meta->files == std::vector<std::string>{"a", "b"});
  CHECK(meta->approval.empty());
  CHECK(meta->comment == "x\n\ny");
  CHECK(meta->target == "t");
}

TEST_CASE("a rollback names change sets, but no files and no branch") {
  CHECK(Meta::parse("##movetype\nRB\n##dependencies\n0123456789abcdef\n"));
  CHECK(error_of("##movetype\nRB\n").starts_with("##dependencies:"));
  CHECK(error_of("##movetype\nRB\n##dependencies\n0123456789abcdef\n##files\na\n")
            .starts_with("##files:"));
}

TEST_CASE("the error describes the mistake in a meta file") {
  CHECK(error_of("").starts_with("##movetype: missing"));
  CHECK(error_of("hello\n##movetype\nDC\n").starts_with("line 1:"));
  CHECK(error_of("##movetype\nXX\n").find("\"XX\"") != std::string::npos);
  CHECK(error_of("##movetype\nDC\nDC\n").find("2 lines") != std::string::npos);
  CHECK(error_of("##movetype\nDC\n##target\nt\n").starts_with("##files:"));
  CHECK(error_of("##movetype\nDC\n##files\na\n").starts_with("##target:"));
  CHECK(error_of(with("##files\nb\n")).find("duplicate section ##files") != std::string::npos);
  CHECK(error_of(with("##Files\nb\n")).starts_with("line 7:"));
  CHECK(error_of(with("##\nb\n")).starts_with("line 7:"));
  CHECK(error_of(with("##author\n ann\n")).starts_with("##author:"));
  CHECK(error_of(with("##dependencies\nabc\n")).starts_with("##dependencies:"));
  CHECK(error_of(with("##dependencies\n0123456789abcdef\n0123456789abcdef\n"))
            .find("0123456789abcdef is listed twice") != std::string::npos);
  CHECK(error_of(with("##comment\na\rb\n")).starts_with("line 8 contains"));
  CHECK(error_of(with("##comment\na\xff\n")).starts_with("line 8 contains"));
  CHECK(error_of(with("##comment\n\xc2\x9b\n")).starts_with("line 8 contains"));
  CHECK(error_of(with(std::string_view("##comment\n\0\n", 12))).starts_with("line 8 contains"));
}

TEST_CASE("file names stay inside the tree and are unique") {
  for (const std::string_view name :
       {"/etc/passwd", "../x", "a/../b", "a//b", "a/", ".", "./a", "a\tb"}) {
    CAPTURE(name);
    CHECK(error_of("##movetype\nDC\n##target\nt\n##files\n" + std::string(name) + "\n")
              .starts_with("##files:"));
  }
  CHECK(error_of("##movetype\nDC\n##target\nt\n##files\na\nb\na\n").starts_with("##files: \"a\""));
}

TEST_CASE("renames are of files of the change set, and merges are of check-ins") {
  for (const std::string_view renames :
       {"a", "a\t", "\ta", "a\ta", "a\tb\tc", "a\tz", "z\ta", "a\tb\na\tc", "a\tc\nb\tc"}) {
    CAPTURE(renames);
    CHECK(error_of(fmt::format("##movetype\nDC\n##target\nt\n##files\na\nb\nc\n##renames\n{}\n",
                               renames))
              .starts_with("##renames:"));
  }
  const std::string hash(40, '0');
  for (const std::string& merge :
       std::vector<std::string>{hash, "merge abc", "merge " + hash + " x", "integrate " + hash}) {
    CAPTURE(merge);
    CHECK(error_of(with("##merges\n" + merge + "\n")).starts_with("##merges:"));
  }
  CHECK(Meta::parse("##movetype\nDC\n##target\nt\n##merges\nmerge " + hash + "\n"));
  CHECK(error_of("##movetype\nDC\n##target\nt\n##merges\nbackout " + hash + "\n")
            .starts_with("##files:"));
  CHECK(error_of("##movetype\nRB\n##dependencies\n0123456789abcdef\n##merges\nmerge " + hash + "\n")
            .starts_with("##files"));
}

TEST_CASE("submitters cannot write the queue's own sections") {
  for (const std::string_view name : {"submitter", "address", "attempts", "held", "approver",
                                      "landed", "closure", "rollback", "history"}) {
    CAPTURE(name);
    CHECK(error_of(with("##" + std::string(name) + "\nx\n")).starts_with("##" + std::string(name)));
  }
}

TEST_CASE("a meta file has limits") {
  error_of(std::string(kMaxMeta + 1, '\n'), ErrorCode::kLimit);
  error_of(with("##author\n" + std::string(kMaxName + 1, 'a') + "\n"), ErrorCode::kLimit);
  error_of(with("##comment\n" + std::string(kMaxComment + 1, 'a') + "\n"), ErrorCode::kLimit);
  std::string files = "##movetype\nDC\n##target\nt\n##files\n";
  for (std::size_t i = 0; i <= kMaxFiles; ++i) files += "f" + std::to_string(i) + "\n";
  error_of(files, ErrorCode::kLimit);
  std::string sections;
  for (std::size_t i = 0; i < kMaxSections; ++i) sections += "##s" + std::to_string(i) + "\nx\n";
  error_of(with(sections), ErrorCode::kLimit);
  std::string dependencies = "##dependencies\n";
  for (std::size_t i = 0; i <= kMaxReferences; ++i) {
    dependencies += std::string(ChangeSetId::random().str()) + "\n";
  }
  error_of(with(dependencies), ErrorCode::kLimit);
}
