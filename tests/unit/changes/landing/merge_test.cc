#include "quarry/changes/merge.h"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

using namespace quarry::changes;

namespace {

const MergeLabels kLabels{"base", "trunk", "change set"};

MaybeVersion file(std::string_view content, char permission = 0) {
  return FileVersion{content, permission};
}

auto merge(const MaybeVersion& base, const MaybeVersion& ours, const MaybeVersion& theirs) {
  return merge_file(base, ours, theirs, kLabels);
}

/// Merges the versions, requires success without conflicts, and returns the result.
MergedFile clean(const MaybeVersion& base, const MaybeVersion& ours, const MaybeVersion& theirs) {
  const auto outcome = merge(base, ours, theirs);
  REQUIRE(outcome.has_value());
  REQUIRE(outcome->has_value());
  return **outcome;
}

MergeConflict clash(const MaybeVersion& base, const MaybeVersion& ours,
                    const MaybeVersion& theirs) {
  const auto outcome = merge(base, ours, theirs);
  REQUIRE_FALSE(outcome.has_value());
  CHECK_FALSE(outcome.error().reason.empty());
  return outcome.error();
}

constexpr MaybeVersion kNone;

}  // namespace

TEST_CASE("a change on one side is taken, and so is the same change on both") {
  CHECK(clean(file("a"), file("a"), file("b")).content == "b");
  CHECK(clean(file("a"), file("b"), file("a")).content == "b");
  CHECK(clean(file("a"), file("b"), file("b")).content == "b");
  CHECK(clean(kNone, kNone, file("b", 'x')).permission == 'x');
  CHECK(clean(kNone, file("b"), kNone).content == "b");
  CHECK(clean(kNone, file("b"), file("b")).content == "b");
  for (const auto& removed : {merge(file("a"), file("a"), kNone),
                              merge(file("a"), kNone, file("a")), merge(file("a"), kNone, kNone)}) {
    REQUIRE(removed.has_value());
    CHECK_FALSE(removed->has_value());
  }
}

TEST_CASE("changes to different lines are merged") {
  const std::string base = lines(20), ours = lines(20, 2, "ours"), theirs = lines(20, 15, "theirs");
  const std::string merged = clean(file(base), file(ours), file(theirs)).content;
  CHECK(merged.find("\nours\n") != std::string::npos);
  CHECK(merged.find("\ntheirs\n") != std::string::npos);
  CHECK(merged.find("line 2\n") == std::string::npos);
  CHECK(merged.size() ==
        ours.size() - std::string("line 15").size() + std::string("theirs").size());
}

TEST_CASE("conflicting lines are shown with both versions and their position") {
  const std::string base = lines(20), ours = lines(20, 7, "ours"), theirs = lines(20, 7, "theirs");
  const MergeConflict conflict = clash(file(base), file(ours), file(theirs));
  CHECK(conflict.reason == "the same lines changed on both sides");
  CHECK(conflict.regions ==
        "line 8:\n<<<<<<<<<<< trunk\nours\n||||||||||| base\nline 7\n===========\ntheirs\n"
        ">>>>>>>>>>> change set\n");
}

TEST_CASE("a file without a final newline, and an empty one, are merged too") {
  const std::string base = lines(9) + "end", ours = lines(9, 1) + "end", theirs = lines(9) + "fin";
  CHECK(clean(file(base), file(ours), file(theirs)).content == lines(9, 1) + "fin");
  CHECK(clash(file(""), file("ours\n"), file("theirs\n")).regions.find("ours") !=
        std::string::npos);
}

TEST_CASE("deleted on one side and changed on the other is a conflict, and so is added on both") {
  CHECK(clash(file("a"), file("b"), kNone).reason == "deleted, but changed on the branch");
  CHECK(clash(file("a"), kNone, file("b")).reason == "changed, but deleted on the branch");
  CHECK(clash(kNone, file("a"), file("b")).reason == "added on both sides with different contents");
  CHECK(clash(file("a"), file("a", 'x'), kNone).regions.empty());
}

TEST_CASE("the executable bit is merged along with the content") {
  const MergedFile made = clean(file("a"), file("b"), file("a", 'x'));
  CHECK(made.content == "b");
  CHECK(made.permission == 'x');
  const MergedFile lost = clean(file("a", 'x'), file("a"), file("b", 'x'));
  CHECK(lost.content == "b");
  CHECK(lost.permission == 0);
}

TEST_CASE("a symbolic link is taken as a whole") {
  CHECK(clean(file("to", 'l'), file("to", 'l'), file("on", 'l')).content == "on");
  CHECK(clean(file("to", 'l'), file("to", 'l'), file("a file")).permission == 0);
  clash(file("to", 'l'), file("ours", 'l'), file("theirs", 'l'));
  clash(file("a\n"), file("b\n"), file("to", 'l'));
  clash(file("to", 'l'), file("file\n"), file("on", 'l'));
}

TEST_CASE("binary and large files are not merged by lines") {
  using namespace std::string_literals;
  const std::string base = "a\0b\n"s, ours = "a\0c\n"s, theirs = "a\0d\n"s;
  CHECK(clash(file(base), file(ours), file(theirs)).reason ==
        "changed on both sides; binary files cannot be merged");
  CHECK(clean(file(base), file(base), file(theirs)).content == theirs);
  for (const std::string& large :
       {std::string(kMaxMerged + 1, 'x'), std::string(kMaxLinesMerged + 1, '\n')}) {
    CHECK(clash(file("a\n"), file(large), file("b\n")).reason.find("too large") !=
          std::string::npos);
  }
}

TEST_CASE("the text about conflicts is limited, and has no control characters") {
  std::string ours, theirs;
  for (int i = 0; i < 2000; ++i) {
    ours += "ours " + std::to_string(i) + "\x1b[31m\n";
    theirs += "theirs " + std::to_string(i) + "\n";
  }
  const MergeConflict conflict = clash(file("base\n"), file(ours), file(theirs));
  CHECK(conflict.regions.size() <= kMaxConflictText + 100);
  CHECK(conflict.regions.ends_with("(and more)\n"));
  CHECK(conflict.regions.find('\x1b') == std::string::npos);
}

TEST_CASE("random edits that are far apart always merge into both changes") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> base(60);
    for (auto& line : base) line = std::to_string(random() % 1000) + "\n";
    auto ours = base, theirs = base, both = base;
    const std::size_t mine = random() % 25, other = 32 + random() % 25;
    ours[mine] = both[mine] = random() % 2 == 0 ? "" : "ours\nours too\n";
    theirs[other] = both[other] = random() % 2 == 0 ? "" : "theirs\n";
    const auto joined = [](const std::vector<std::string>& parts) {
      std::string text;
      for (const auto& part : parts) text += part;
      return text;
    };
    const std::string texts[] = {joined(base), joined(ours), joined(theirs)};
    CHECK(clean(file(texts[0]), file(texts[1]), file(texts[2])).content == joined(both));
  }
}
