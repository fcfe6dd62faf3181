// Compares our derived tables with fossil's, for parents that are not check-ins and for hashes in
// upper case.

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "odd_artifacts.h"

using namespace quarry;
using namespace quarry::repository;
using namespace quarry::repository::test;

namespace {

const std::string kA = "content of a", kB = "content of b";

std::string file(const std::string& name, const std::string& hash) {
  return fmt::format("F {} {}\n", name, hash);
}

std::string check_in(const std::string& time, const std::string& files,
                     const std::string& parents) {
  return finish(fmt::format("C c\nD {}\n{}{}U ann\n", time, files,
                            parents.empty() ? "" : "P " + parents + "\n"));
}

std::string wiki_page(const std::string& time, const std::string& parents) {
  return finish(fmt::format("D {}\nL Page\n{}U ann\nW 2\nhi\n", time,
                            parents.empty() ? "" : "P " + parents + "\n"));
}

const std::string kFiles = file("a", hash(kA)) + file("b", hash(kB));

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  });
  return text;
}

/// Stores ARTIFACTS in the given order, and in another repository in reverse order. Calls CHECK
/// with both repositories.
template <typename Check>
void in_both_orders(const std::vector<std::string>& artifacts, Check&& check) {
  in_orders({artifacts, {artifacts.rbegin(), artifacts.rend()}}, [&](World& world) {
    check(world);
    check_derived(world);
  });
}

const char* const kCountMlinks = "SELECT count(*) FROM mlink";
const char* const kFileNames =
    "SELECT group_concat(name) FROM (SELECT name FROM filename ORDER BY 1)";

}  // namespace

TEST_CASE("a primary parent that is not a check-in has no files") {
  std::string parent;
  SUBCASE("a wiki page") {
    parent = wiki_page("2021-01-01T00:00:00", "");
  }
  SUBCASE("a control artifact") {
    parent = finish(fmt::format("D 2021-01-01T00:00:00\nT +foo {}\nU bob\n", hash(kA)));
  }
  SUBCASE("a cluster") {
    parent = finish(fmt::format("M {}\n", hash(kA)));
  }
  SUBCASE("a ticket change") {
    parent = finish("D 2021-01-01T00:00:00\nJ title x\nK " + kId + "\nU ann\n");
  }
  const std::string merged = check_in("2021-01-02T00:00:00", file("a", hash(kB)), "");
  const std::string child =
      check_in("2021-01-03T00:00:00", kFiles, hash(parent) + " " + hash(merged));
  in_both_orders({parent, merged, child}, [](World& world) {
    // One row is for the merged check-in, two are for the child, and two are for the merge.
    CHECK(world.sql(kCountMlinks) == "5");
    CHECK(world.sql(kFileNames) == "a,b");
  });
}

TEST_CASE("with plain data as primary parent a merge parent adds no file names, in any order") {
  const std::string merged = check_in("2021-01-02T00:00:00", file("x", hash(kB)), "");
  const std::string child = check_in("2021-01-03T00:00:00", kFiles, hash(kA) + " " + hash(merged));
  in_orders({{kA, child, merged}, {child, merged, kA}, {kA, merged, child}}, [&](World& world) {
    CHECK(world.sql(kFileNames) == "x");
    CHECK(world.sql(kCountMlinks) == "1");
    check_derived(world);
  });
}

TEST_CASE("the parent of a check-in is shown before it, whatever its kind") {
  const std::string late = "2021-01-01T00:00:00.900";
  std::string parent;
  SUBCASE("a wiki page") {
    parent = wiki_page(late, "");
  }
  SUBCASE("a technote, by its date of writing") {
    parent =
        finish(fmt::format("C n\nD {}\nE 2022-02-02T00:00:00 {}\nU ann\nW 2\nhi\n", late, kId));
  }
  SUBCASE("a control artifact") {
    parent = finish(fmt::format("D {}\nT +foo {}\nU bob\n", late, hash(kA)));
  }
  SUBCASE("an attachment") {
    parent = finish(fmt::format("A a.txt Page {}\nD {}\nU ann\n", hash(kA), late));
  }
  const std::string child = check_in("2021-01-01T00:00:00", kFiles, hash(parent));
  in_both_orders({parent, child}, [&](World& world) {
    CHECK(world.sql("SELECT strftime('%H:%M:%f',mtime) FROM event WHERE type<>'ci'") ==
          "23:59:59.975");
  });
  World world;
  world.put_all({parent, child});
  world.put(control(1, parent, "+comment x"));
  check_derived(world);
  world.put(control(2, parent, "+date 2020-01-01"));
  check_derived(world);
}

TEST_CASE("a check-in that a document names as its previous version is unchanged") {
  const std::string root = check_in("2021-01-01T00:00:00", kFiles, "");
  const std::string page = wiki_page("2021-01-01T00:00:00", hash(root));
  World world;
  SUBCASE("which arrives later") {
    world.put_all({page, root});
  }
  SUBCASE("which arrives first") {
    world.put_all({root, page});
  }
  SUBCASE("together with another") {
    const std::string other = check_in("2021-01-03T00:00:00", file("a", hash(kB)), "");
    const std::string merge = wiki_page("2021-01-04T00:00:00", hash(root) + " " + hash(other));
    world.put_all({other, merge, root});
  }
  CHECK(world.sql("SELECT count(*) FROM mlink WHERE fid=0 OR isaux") == "0");
  CHECK(world.sql("SELECT count(*) FROM event WHERE mtime<>omtime") == "0");
  check_derived(world);
}

TEST_CASE("a check-in that a later document names among its versions is no longer a leaf") {
  const std::string root = finish("C c\nD 2021-01-01T00:00:00\nT *branch * trunk\nU ann\n");
  World world;
  world.put(root);
  const std::string leaves =
      "SELECT count(*) FROM leaf JOIN blob USING(rid) WHERE uuid='" + hash(root) + "'";
  CHECK(world.sql(leaves) == "1");
  world.put(wiki_page("2021-01-04T00:00:00", fmt::format("{:6<64} {}", "", hash(root))));
  CHECK(world.sql(leaves) == "0");
  check_derived(world);
}

TEST_CASE("an edit of an earlier version shows, even if its hash sorts after the later one") {
  World world;
  const std::string text(200, 'x');
  const auto version = [&](int day, const std::string& parents) {
    return finish(fmt::format("D 2021-01-{:02d}T00:00:00\nL Page\n{}U ann\nW {}\n{}\n", day,
                              parents.empty() ? "" : "P " + parents + "\n", text.size(), text));
  };
  const std::string first = version(1, "");
  const std::string edit = control(1, first, "+comment better");
  world.put_all({version(2, hash(first)), first, edit});
  CHECK(world.sql("SELECT count(*) FROM event WHERE ecomment IS NOT NULL") == "1");
  check_derived(world);
}

TEST_CASE("a tag that sets parents keeps file names of the comparison with the original ones") {
  const std::string lost(64, '7');
  const std::string parent = check_in("2021-01-01T00:00:00", file("x", lost), std::string(64, '6'));
  const std::string other = check_in("2021-01-02T00:00:00", file("a", hash(kA)), "");
  const std::string child = check_in("2021-01-03T00:00:00", file("a", hash(kA)), hash(parent));
  const std::string tag = control(1, child, "+parent " + hash(other));
  const std::string swapped = finish(
      fmt::format("D 2021-02-01T00:00:00\nT +parent {} {}\nU bob\n", hash(child), hash(other)));
  in_both_orders({parent, other, child, swapped}, [&](World& world) {
    CHECK(world.sql(kFileNames) == "a,x");
    CHECK(world.sql("SELECT count(*) FROM phantom JOIN blob USING(rid) WHERE uuid='" + lost +
                    "'") == "1");
  });
}

TEST_CASE("a root loses inherited tags when the tag that set its parents is cancelled") {
  const std::string left =
      finish("C c\nD 2021-01-01T00:00:00\nF a " + hash(kA) + "\nT *line * one\nU ann\n");
  const std::string root = check_in("2021-01-02T00:00:00", kFiles, "");
  const std::string child = check_in("2021-01-03T00:00:00", file("a", hash(kB)), hash(root));
  World world;
  world.put_all({kA, kB, left, root, child, control(1, root, "+parent " + hash(left))});
  CHECK(world.sql("SELECT count(*) FROM tagxref WHERE value='one'") == "3");
  world.put(finish("D 2021-02-02T00:00:00\nT -parent " + hash(root) + "\nU bob\n"));
  CHECK(world.sql("SELECT count(*) FROM tagxref WHERE value='one'") == "1");
  check_derived(world);
}

TEST_CASE("an upper-case hash finds the artifact with the lower-case one") {
  const std::string root = check_in("2021-01-01T00:00:00", kFiles, "");
  const std::string capitals = upper(hash(root));
  const auto with = [&](const std::string& cards) {
    return finish(fmt::format(fmt::runtime(cards), fmt::arg("it", capitals),
                              fmt::arg("root", hash(root)), fmt::arg("a", upper(hash(kA))),
                              fmt::arg("id", kId)));
  };
  std::string artifact, sql, expected;
  SUBCASE("P") {
    artifact = with("C c\nD 2021-01-02T00:00:00\nF a {a}\nP {it}\nU ann\n");
    // The file's hash in upper case counts as another version of the file.
    sql = "SELECT count(*) FROM mlink WHERE pmid<>0", expected = "2";
  }
  SUBCASE("P of a document that is not its first version") {
    artifact = with("D 2021-01-02T00:00:00\nL Page\nP {it}\nU ann\nW 2\nhi\n");
    sql = "SELECT comment FROM event WHERE type='w'", expected = "+Page";
  }
  SUBCASE("Q") {
    artifact = with("C c\nD 2021-01-02T00:00:00\nF a {a}\nP {root}\nQ +{it}\nU ann\n");
    sql = "SELECT count(*) FROM cherrypick", expected = "0";
  }
  SUBCASE("B") {
    artifact = with("B {it}\nC c\nD 2021-01-02T00:00:00\nF b\nP {root}\nU ann\n");
    sql = "SELECT count(*) FROM plink WHERE baseid=pid", expected = "1";
  }
  SUBCASE("T") {
    artifact = with("D 2021-01-02T00:00:00\nT +foo {it}\nT +foo {root}\nU ann\n");
    sql = "SELECT comment FROM event WHERE type='g'";
    // The hash of the tag's target is stored and sorted in the spelling of the T card.
    expected =
        fmt::format("Edit [{}|{}]: Add \"foo\".", capitals.substr(0, 16), capitals.substr(0, 10));
    expected += fmt::format(" Edit [{}|{}]: Add \"foo\".", hash(root).substr(0, 16),
                            hash(root).substr(0, 10));
  }
  SUBCASE("T that gives other parents") {
    artifact = with("D 2021-01-02T00:00:00\nT +parent {it} {a}\nU ann\n");
    sql = "SELECT count(*) FROM plink", expected = "1";
  }
  SUBCASE("M") {
    artifact = with("M {it}\n");
    sql = "SELECT count(*) FROM unclustered JOIN event ON objid=rid WHERE comment='c'";
    expected = "0";
  }
  SUBCASE("A") {
    artifact = with("A a.txt Page {a}\nD 2021-01-02T00:00:00\nU ann\n");
    sql = "SELECT src FROM attachment", expected = upper(hash(kA));
  }
  SUBCASE("G and I") {
    artifact = with("D 2021-01-02T00:00:00\nG {it}\nI {it}\nU ann\nW 2\nhi\n");
    sql = "SELECT froot=firt FROM forumpost", expected = "1";
  }
  SUBCASE("P of a technote") {
    artifact =
        with("C n\nD 2021-01-02T00:00:00\nE 2021-01-02T00:00:00 {id}\nP {it}\nU ann\nW 2\nhi\n");
    sql = "SELECT count(*) FROM plink", expected = "1";
  }
  in_both_orders({kA, root, artifact}, [&](World& world) {
    CHECK(world.sql(sql) == expected);
    CHECK(world.sql("SELECT count(*) FROM blob WHERE uuid GLOB '*[A-F]*'") == "0");
  });
}

TEST_CASE("each unknown upper-case hash creates one phantom") {
  const std::string nobody(64, 'A');
  in_both_orders(
      {finish(fmt::format("D 2021-01-02T00:00:00\nG {0}\nI {0}\nU ann\nW 2\nhi\n", nobody)),
       check_in("2021-01-03T00:00:00", file("a", nobody) + file("b", nobody), nobody)},
      [&](World& world) {
        CHECK(world.sql("SELECT group_concat(uuid) FROM blob WHERE size<0") ==
              std::string(64, 'a'));
      });
}
