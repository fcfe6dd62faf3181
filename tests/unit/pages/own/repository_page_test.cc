#include "quarry/pages/repository_page.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "held_clock.h"
#include "quarry/artifact/structural.h"
#include "quarry/repository/project_history.h"
#include "quarry/repository/whole_file.h"
#include "test_database.h"

using namespace quarry;
using repository::Repository;

namespace {

struct PageWorld : TemporaryFolder {
  PageWorld() {
    REQUIRE(repository::init(
        file,
        {.project_name = "<the> project", .user = "ann", .password = "secret", .clock = &clock}));
    auto opened = Repository::open(file, {.clock = &clock});
    REQUIRE(opened);
    repository = std::move(*opened);
  }
  void run(const std::string& sql) const { TestDatabase(file).run(sql); }
  std::string page(std::string_view url = "https://host/team/x") const {
    const auto page = pages::repository_page(*repository, url, {}, clock.now());
    REQUIRE(page);
    return *page;
  }
  void check_in(const std::string& comment) {
    const auto newest = repository::ProjectHistory(*repository).check_ins(1);
    REQUIRE(newest);
    auto receipt = repository->receive();
    REQUIRE(receipt);
    receipt->set_sender({.uid = 1, .login_nonce = {}, .address = "192.0.2.1"});
    const std::string text = artifact::format_check_in({.comment = comment,
                                                        .date = {clock.now().value + 60'000},
                                                        .user = "b<o>b",
                                                        .files = {},
                                                        .parents = {newest->front().name},
                                                        .repository_checksum = "",
                                                        .tags = {}});
    const auto name = artifact::HashName::of(artifact::HashAlgorithm::kSha3_256, text);
    REQUIRE(
        receipt->store({.name = name, .payload = text, .delta_source = {}, .declared_size = {}}));
    REQUIRE(receipt->commit());
  }

  HeldClock clock;
  std::filesystem::path file = *this / "x.fossil";
  std::unique_ptr<Repository> repository;
};

}  // namespace

TEST_CASE("a repository's page says how to clone it") {
  const PageWorld world;
  const std::string page = world.page();
  CHECK(page.contains("<h1>&lt;the&gt; project</h1>"));
  CHECK(page.contains(
      "fossil clone https://host/team/x x.fossil\nmkdir x\ncd x\nfossil open ../x.fossil<"));
  CHECK(world.page("http://host/").contains("fossil clone http://host/ project.fossil\n"));
}

TEST_CASE("without the right to read, a repository's page shows nothing of its content") {
  const PageWorld world;
  CHECK(world.page().contains("Latest check-ins"));
  world.run("UPDATE user SET cap='g' WHERE login='nobody'");
  std::string page = world.page();
  CHECK(page.contains("fossil clone https://host/team/x x.fossil"));
  for (const char* secret : {"project", "check-ins", "Branches", "trunk", "ann"}) {
    CAPTURE(secret);
    CHECK_FALSE(page.contains(secret));
  }
  world.run("UPDATE user SET cap='' WHERE login='nobody'");
  page = world.page();
  CHECK(page.contains("fossil clone https://USER@host/team/x x.fossil"));
  CHECK_FALSE(page.contains("trunk"));
}

TEST_CASE("a repository's page shows its check-ins, branches and tags") {
  PageWorld world;
  const std::string long_text(300, 'x');
  world.check_in(long_text.substr(0, 299) + "\u00e4\u00e4 the end of it");
  const std::string page = world.page();
  CHECK(page.contains("<p>" + long_text.substr(0, 299) + "\u2026</p>"));
  CHECK(page.contains(" by b&lt;o&gt;b on trunk</p></div><code class=\"dim\">"));
  CHECK(page.contains("<strong>trunk</strong>"));
  CHECK_FALSE(page.contains("<o>"));
}
