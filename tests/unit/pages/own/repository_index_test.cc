#include "quarry/pages/repository_index.h"

#include <doctest/doctest.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "quarry/repository/repository_folder.h"
#include "quarry/repository/whole_file.h"
#include "test_database.h"

using namespace quarry;
using pages::RepositoryIndex;

namespace {

struct IndexWorld : TemporaryFolder {
  std::string file(const std::string& name) const { return (*this / (name + ".fossil")).string(); }
  void make(const std::string& name, const std::string& project) const {
    std::filesystem::create_directories(std::filesystem::path(file(name)).parent_path());
    REQUIRE(repository::init(file(name),
                             {.project_name = project, .user = "ann", .password = "secret"}));
  }
  void run(const std::string& name, const std::string& sql) const {
    TestDatabase(file(name)).run(sql);
  }
};

using Names = std::vector<std::string>;

Names names_of(RepositoryIndex& index, std::string_view below = {}) {
  Names names;
  for (const auto& each : index.list(below).repositories) names.push_back(each.name);
  return names;
}

}  // namespace

TEST_CASE("the index lists repositories that everybody may read, also in nested folders") {
  const IndexWorld world;
  for (const char* name : {"b", "a/deep/c", "a/b", "hidden", "skin"}) world.make(name, name);
  world.run("hidden", "UPDATE user SET cap='g' WHERE login='nobody'");
  world.run("skin", "INSERT INTO config(name, value, mtime) VALUES('repolist-skin', 2, 0)");
  std::ofstream(world.file("no-repository")) << "text";
  std::filesystem::create_directory(world / "folder.fossil");
  world.make(".secret/d", "in a hidden folder");
  const TemporaryFolder outside;
  std::filesystem::copy_file(world.file("b"), outside / "b.fossil");
  std::filesystem::create_symlink(outside / "b.fossil", world.file("link"));
  std::filesystem::create_symlink(outside.path(), world / "other");
  std::filesystem::create_symlink("b.fossil", world.file("same"));
  RepositoryIndex index(world.path(), {});
  CHECK(names_of(index) == Names{"a/b", "a/deep/c", "b", "same"});
  CHECK_FALSE(index.list().is_cut);
}

TEST_CASE("the index follows changes to repositories and their permissions") {
  const IndexWorld world;
  world.make("a", "first");
  RepositoryIndex index(world.path(), {});
  for (int round = 0; round < 20; ++round) {
    CAPTURE(round);
    world.run("a", "UPDATE config SET value='name " + std::to_string(round) +
                       "' WHERE name='project-name'");
    const auto list = index.list();
    REQUIRE(list.repositories.size() == 1);
    CHECK(list.repositories.front().project == "name " + std::to_string(round));
    world.run("a", "UPDATE user SET cap='' WHERE login='nobody'");
    CHECK(names_of(index).empty());
    world.run("a", "UPDATE user SET cap='o' WHERE login='nobody'");
    CHECK(names_of(index) == Names{"a"});
  }
  world.make("b", "second");
  CHECK(names_of(index) == Names{"a", "b"});
  std::filesystem::rename(world.file("b"), world.file("a"));
  CHECK(index.list().repositories.front().project == "second");
  std::filesystem::remove(world.file("a"));
  CHECK(names_of(index).empty());
}

TEST_CASE("the index sees changes in the write-ahead log of an open repository") {
  const IndexWorld world;
  world.make("a", "first");
  TestDatabase held(world.file("a"));
  held.run("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0");
  RepositoryIndex index(world.path(), {});
  for (int round = 0; round < 20; ++round) {
    CHECK(names_of(index) == Names{"a"});
    held.run("UPDATE user SET cap='' WHERE login='nobody'");
    CHECK(names_of(index).empty());
    held.run("UPDATE user SET cap='o' WHERE login='nobody'");
  }
}

TEST_CASE("text from repositories is never markup in the index page") {
  pages::RepositoryList list;
  list.repositories.push_back({.name = "team/x",
                               .project = "<b>bold</b>",
                               .description = "\"quoted\" & <script>\u202e",
                               .last_check_in = base::UnixMillis{0},
                               .size = 6'168'576});
  list.repositories.push_back({"bare", "", "", std::nullopt, 900, false});
  const std::string page =
      pages::index_page(list, "https://host\"><i>/code", "", base::UnixMillis{3 * 3'600'000});
  CHECK(page.contains("&lt;b&gt;bold&lt;/b&gt;"));
  CHECK(page.contains("&quot;quoted&quot; &amp; &lt;script&gt;[U+202E]"));
  CHECK_FALSE(page.contains("<script"));
  CHECK_FALSE(page.contains("<i>"));
  CHECK(page.contains("fossil clone https://host&quot;&gt;&lt;i&gt;/code/team/x</code>"));
  CHECK(page.contains("datetime=\"1970-01-01T00:00:00Z\""));
  CHECK(page.contains(">3 hours ago</time>, 6.2 MB"));
  CHECK(page.contains("No check-in yet, 0.9 kB"));
  CHECK(page.contains("fossil clone https://USER@host&quot;&gt;&lt;i&gt;/code/bare</code>"));
  CHECK(pages::index_text(list, "http://h") == "http://h/team/x\nhttp://h/bare\n");
  CHECK(pages::index_page({}, "http://h", "", {}).contains("quarry init NAME.fossil"));
  list.repositories[0].description = std::string(299, 'x') + "äöü";
  CHECK(pages::index_page(list, "http://h", "", {}).contains(std::string(299, 'x') + "…</p>"));
}

TEST_CASE("a subfolder has its own list, and a path that is not a folder has none") {
  const IndexWorld world;
  for (const char* name : {"b", "a/deep/c", "a/b", "ab/x"}) world.make(name, name);
  const TemporaryFolder outside;
  std::filesystem::copy_file(world.file("b"), outside / "b.fossil");
  std::filesystem::create_symlink(outside.path(), world / "other");
  std::filesystem::create_symlink("a", world / "same");
  RepositoryIndex index(world.path(), {});
  CHECK(names_of(index, "a") == Names{"a/b", "a/deep/c"});
  CHECK(names_of(index, "a/deep") == Names{"a/deep/c"});
  for (const char* folder :
       {"b", "b.fossil", "other", "same", "nothing", "..", "a/../ab", "/a", "a/", ".", "a//deep"}) {
    CAPTURE(folder);
    CHECK(names_of(index, folder).empty());
  }
  // The index must not reuse the capabilities that it read for an earlier list.
  world.run("a/b", "UPDATE user SET cap='g' WHERE login='nobody'");
  CHECK(names_of(index, "a") == Names{"a/deep/c"});
  CHECK(names_of(index) == Names{"a/deep/c", "ab/x", "b"});
}

TEST_CASE("the pages of folders link to each other") {
  pages::RepositoryList list;
  for (const char* name : {"a/b", "a/deep/c", "a/deep/d"}) {
    list.repositories.emplace_back().name = name;
  }
  const std::string top = pages::index_page(list, "http://h/x", "", {});
  CHECK(top.contains("<a href=\"http://h/x/a/\">a/</a>"));
  CHECK_FALSE(top.contains("deep/</a>"));
  CHECK_FALSE(top.contains("<nav"));
  const std::string in_a = pages::index_page(list, "http://h/x", "a", {});
  CHECK(in_a.contains("<a href=\"http://h/x/a/deep/\">deep/</a>"));
  CHECK(in_a.contains("<li><a href=\"http://h/x/\">"));
  const std::string in_deep = pages::index_page({}, "http://h/x", "a/deep", {});
  CHECK(in_deep.contains("<li><a href=\"http://h/x/a/\">a</a>"));
  CHECK(in_deep.contains("<li><a href=\"http://h/x/\">"));
}

TEST_CASE("a page shows 250 repositories, and a link to the rest") {
  pages::RepositoryList list;
  for (int i = 0; i < 600; ++i) list.repositories.emplace_back().name = fmt::format("t {:03}/r", i);
  const auto page = [&](std::string_view after) {
    return pages::index_page(list, "http://h", "", {}, after);
  };
  CHECK(page("").contains("http://h/t 249/r\""));
  CHECK_FALSE(page("").contains("http://h/t 250/"));
  CHECK(page("").contains("<a href=\"?after=t%20249%2Fr\">More</a>"));
  CHECK(page("t 249/r").contains("http://h/t 250/r\""));
  CHECK_FALSE(page("t 249/r").contains("http://h/t 249/r\""));
  CHECK(page("t 499/r").contains("http://h/t 599/r\""));
  CHECK_FALSE(page("t 499/r").contains(">More</a>"));
  CHECK(page("z").contains("<ul class=\"rows\">\n</ul>"));
}
