// Tests rows that depend on the order of processing. `quarry verify` accepts such a row only if
// some order of processing produces its values. Each Damage below changes a row of a class that
// quarry-protocol(7) lists.

#include <doctest/doctest.h>
#include <fmt/core.h>

#include "odd_artifacts.h"
#include "store/database.h"
#include "world.h"

using namespace quarry;
using namespace quarry::repository;
using namespace quarry::repository::test;

namespace {

std::string check_in(const std::string& comment, const std::string& time,
                     const std::vector<std::string>& parents, const std::string& file,
                     const std::string& tags = "") {
  std::string cards = fmt::format("C {}\nD 2021-01-{}\nF {} {}\n", comment, time, file, hash(file));
  for (const std::string& parent : parents)
    cards += (&parent == &parents.front() ? "P " : " ") + hash(parent);
  return finish(cards + (parents.empty() ? "" : "\n") + tags + "U ann\n");
}

std::string document(int day, const std::string& before_user) {
  return finish(fmt::format("D 2021-03-{:02d}T00:00:00\n{}U ann\nW 2\nhi\n", day, before_user));
}

std::string technote(int day, const std::string& text, const std::string& parent = "") {
  return finish(
      fmt::format("C {}\nD 2021-03-{:02d}T00:00:00\nE 2021-03-01T00:00:00 {}\n{}U ann\n"
                  "W 2\nhi\n",
                  text, day, kId, parent.empty() ? "" : "P " + hash(parent) + "\n"));
}

/// A history with rows of each class.
struct Amended {
  std::string a = "a", b = "b", c = "c";
  std::string root =
      check_in("root", "01T00:00:00", {}, "a", "T *branch * trunk\nT *sym-trunk *\n");
  std::string left = check_in("left", "02T00:00:00", {root}, "b");
  std::string right = check_in("right", "03T00:00:00", {root}, "c", "T *branch * right\n");
  std::string child = check_in("child\\s[abcdef01]", "04T00:00:00", {left}, "a");
  std::string below = check_in("below", "05T00:00:00", {child}, "b");
  std::string parent_tag = test::control(1, child, "+parent " + hash(right));
  std::string other_child = check_in("other", "04T00:00:01", {left}, "a");
  std::string cancelled_tag =
      finish(fmt::format("D 2021-02-02T00:00:00\nT -parent {}\nU bob\n", hash(other_child)));
  std::string first_tag = test::control(1, other_child, "+parent " + hash(right));
  std::string line = test::control(9, left, "*line later"),
              older_line = test::control(8, below, "*line older");
  std::string line_of_root = test::control(7, root, "*line root");
  std::string close = check_in("close", "06T00:00:10", {left}, "a");
  std::string early = check_in("early", "06T00:00:10", {close}, "b");
  std::string late = check_in("late", "06T00:00:11", {close}, "c");
  std::string edited = check_in("edited", "07T00:00:00", {left}, "a");
  std::string cancel = test::control(3, edited, "-comment lost\\s[abcdef12]");
  std::string cancel_date = test::control(3, edited, "-date 2020-01-01");
  std::string lost = check_in("lost", "08T00:00:00", {}, "a");
  std::string note = technote(2, "old"), later_note = technote(3, "new");
  std::string page = document(4, "L Page\n");
  std::string page_edit = test::control(10, page, "+comment better\\s[abcdef34]");
  std::string twin = finish("D 2021-03-05T00:00:00\nL Twin\nU ann\nW 15\n[abcdef56] text\n");
  std::string other_twin = finish("D 2021-03-05T00:00:00\nL Twin\nU ann\nW 15\n[abcdef78] text\n");
  std::string attachment = finish(fmt::format("A a.txt {}\nD 2021-03-02T12:00:00\nU ann\n", kId));
  std::string post = document(6, "H Title\n");
  std::string reply = document(7, fmt::format("G {0}\nI {0}\n", hash(post)));
  std::string post_edit = document(8, fmt::format("G {0}\nH New\nP {0}\n", hash(post)));
  std::string ticket = finish("D 2021-03-09T00:00:00\nJ status Open\nJ title one\nK " +
                              std::string(40, '5') + "\nU ann\n");
  std::string other_ticket = finish("D 2021-03-09T00:00:00\nJ status Done\nJ title two\nK " +
                                    std::string(40, '5') + "\nU ann\n");

  std::vector<std::string> all() const {
    return {a,           b,          c,
            root,        left,       right,
            child,       below,      parent_tag,
            other_child, first_tag,  cancelled_tag,
            line,        older_line, line_of_root,
            close,       early,      late,
            edited,      cancel,     cancel_date,
            lost,        note,       later_note,
            page,        page_edit,  twin,
            other_twin,  attachment, post,
            reply,       post_edit,  ticket,
            other_ticket};
  }
};

std::string rid(const std::string& content) {
  return "(SELECT rid FROM blob WHERE uuid='" + hash(content) + "')";
}

std::string tag(const std::string& name) {
  return "(SELECT tagid FROM tag WHERE tagname='" + name + "')";
}

}  // namespace

TEST_CASE("no order produces a damaged row") {
  const Amended h;
  World world;
  world.put_all(h.all());
  world.repository.reset();
  REQUIRE(faults(world.file()) == "");
  const auto event = [&](const std::string& content, const std::string& change) {
    return fmt::format("UPDATE event SET {} WHERE objid={}", change, rid(content));
  };
  const auto without = [&](const std::string& table, const std::string& key,
                           const std::string& content) {
    return fmt::format("DELETE FROM {} WHERE {}={}", table, key, rid(content));
  };
  const auto tags = [&](const std::string& content, const std::string& name,
                        const std::string& change) {
    return fmt::format("UPDATE tagxref SET {} WHERE rid={} AND tagid={}", change, rid(content),
                       tag(name));
  };
  const auto forged_event = [&](const std::string& content, const std::string& type,
                                const std::string& comment) {
    return fmt::format(
        "INSERT OR REPLACE INTO event(type,mtime,objid,user,comment,omtime)"
        " VALUES('{}',2459275.5,{},'ann','{}',2459275.5)",
        type, rid(content), comment);
  };
  struct Damage {
    std::string name;
    std::string sql;
  };
  for (const auto& [name, sql] : {
           // Parents that were set by a tag.
           Damage{"user", event(h.child, "user='evil'")},
           {"comment", event(h.child, "comment='forged'")},
           {"no event", without("event", "objid", h.child)},
           {"no files", without("mlink", "mid", h.child)},
           {"no parents", without("plink", "cid", h.child)},
           {"a parent that no tag sets",
            fmt::format("UPDATE plink SET pid={} WHERE cid={}", rid(h.lost), rid(h.child))},
           {"a time of a link",
            fmt::format("UPDATE plink SET mtime=mtime-1 WHERE cid={}", rid(h.other_child))},
           {"a parent that is not primary",
            fmt::format("UPDATE plink SET isprim=0 WHERE cid={}", rid(h.other_child))},
           {"files of a check-in whose tag was cancelled", without("mlink", "mid", h.other_child)},
           {"a forged file",
            fmt::format("UPDATE mlink SET mperm=2 WHERE mid={}", rid(h.other_child))},
           {"own tag", fmt::format("DELETE FROM tagxref WHERE rid={} AND tagid=10", rid(h.child))},
           {"inherited value", tags(h.child, "branch", "value='forged'")},
           {"tags of a descendant", without("tagxref", "rid", h.below)},
           {"leaf of a descendant", without("leaf", "rid", h.below)},
           {"links", without("backlink", "srcid", h.child)},
           // Tags.
           {"own entry", tags(h.below, "line", "value='forged'")},
           {"own time", tags(h.below, "line", "mtime=mtime+1")},
           {"an inherited entry that the parent lacks", tags(h.below, "line", "srcid=0")},
           {"no entry", fmt::format("DELETE FROM tagxref WHERE rid={} AND tagid={}", rid(h.below),
                                    tag("line"))},
           {"an overruled ancestor", tags(h.left, "line", "value='root'")},
           // Times.
           {"long before", event(h.close, "mtime=omtime-3000")},
           {"between the steps", event(h.close, "mtime=omtime-0.01/86400")},
           {"after", event(h.close, "mtime=omtime+1.0/86400")},
           {"another original time", event(h.close, "omtime=omtime-1")},
           // Edits.
           {"a comment that no card has", event(h.edited, "ecomment='forged'")},
           {"a user that no card has", event(h.edited, "euser='evil'")},
           {"a date that no card has", event(h.edited, "mtime=2459000.5")},
           {"links of no comment", "UPDATE backlink SET target='deadbeef' WHERE srctype=0"},
           {"added links",
            fmt::format("INSERT INTO backlink VALUES('deadbeef',0,{},2459246.5)", rid(h.edited))},
           {"a comment of a document", event(h.page, "ecomment='forged'")},
           {"a user of a document", event(h.page, "euser='evil'")},
           {"a colour of a document", event(h.page, "bgcolor='red'")},
           {"a time of a document", event(h.page, "mtime=mtime-1")},
           {"the text of a document", event(h.page, "comment='forged'")},
           // Technotes.
           {"no version", "DELETE FROM event WHERE type='e' AND tagid IS NOT NULL"},
           {"no latest version", without("event", "objid", h.later_note)},
           {"a check-in", forged_event(h.note, "ci", "forged")},
           {"another comment", event(h.later_note, "comment='forged'")},
           {"another time", event(h.later_note, "mtime=mtime-1")},
           // Attachments.
           {"another target", event(h.attachment, "comment='Delete attachment a.txt from forged'")},
           {"another kind", event(h.attachment, "type='ci'")},
           // Forum titles.
           {"a title that no post has", event(h.reply, "comment='Reply: forged'")},
           {"another kind of post", event(h.reply, "comment='Edit: New'")},
           // Equal times.
           {"a title that no change has", event(h.ticket, "comment='forged'")},
           {"a field", "UPDATE ticket SET title='forged'"},
           {"a field of one change, and another of the other",
            "UPDATE ticket SET title=CASE title WHEN 'one' THEN 'two' ELSE 'one' END"},
           {"no change", "DELETE FROM ticketchng"},
           {"links of no version", "UPDATE backlink SET target='deadbeef' WHERE srctype=2"},
           {"links of all versions",
            "INSERT INTO backlink SELECT CASE target WHEN 'abcdef56' THEN 'abcdef78' ELSE"
            " 'abcdef56' END, srctype, srcid, mtime FROM backlink WHERE srctype=2"},
           // Check-ins without a branch.
           {"a leaf with a child on its branch",
            fmt::format("INSERT INTO leaf VALUES({})", rid(h.close))},
           {"no leaf on a branch", without("leaf", "rid", h.edited)},
       }) {
    CAPTURE(name);
    const std::filesystem::path copy = world.folder / "copy.fossil";
    std::filesystem::copy_file(world.file(), copy,
                               std::filesystem::copy_options::overwrite_existing);
    Database database(copy, Database::Mode::kReadWrite, std::chrono::seconds(5));
    database.execute(sql);
    CHECK_MESSAGE(database.changes() > 0, "the damage changes nothing");
    CHECK(faults_in_any_order(copy) != "");
  }
}

TEST_CASE("a row that another order produces is not a fault") {
  const Amended h;
  std::vector<std::string> artifacts = h.all();
  SUBCASE("in the order of the dates") {}
  SUBCASE("in reverse") {
    for (const std::string& tag : {h.parent_tag, h.first_tag, h.cancelled_tag})
      std::erase(artifacts, tag);
    std::ranges::reverse(artifacts);
  }
  World world;
  world.put_all(artifacts);
  check_derived(world);
}

TEST_CASE("a check-in that fossil's rebuild leaves off the timeline may be missing") {
  const Amended h;
  World world;
  std::vector<std::string> artifacts = h.all();
  std::ranges::reverse(artifacts);  // the tag that sets parents comes before the check-in
  world.put_all(artifacts);
  world.repository.reset();
  REQUIRE(world.fossil("rebuild " + world.file().string()));
  REQUIRE(world.sql("SELECT 1 FROM event WHERE objid=" + rid(h.child)) == "");
  CHECK(faults_in_any_order(world.file()) == "");
  world.sql("DELETE FROM mlink WHERE mid=" + rid(h.child));
  CHECK(faults_in_any_order(world.file()).starts_with("event: missing row: " + hash(h.child)));
}
