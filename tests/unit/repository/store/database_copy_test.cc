#include "store/database_copy.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/core.h>

#include <chrono>
#include <fstream>
#include <string>

#include "quarry/base/fd.h"
#include "temporary_folder.h"

using namespace quarry::repository;
using Mode = Database::Mode;

TEST_CASE("a copy of any page size has all pages and is not in WAL mode") {
  const TemporaryFolder folder;
  const std::string rows = "SELECT group_concat(hex(content)) FROM made";
  for (const int page_size : {512, 1024, 4096, 65536}) {
    CAPTURE(page_size);
    const std::string name = std::to_string(page_size);
    Database from(folder / (name + ".fossil"), Mode::kCreate, std::chrono::seconds(0));
    from.execute(fmt::format("PRAGMA page_size={}; PRAGMA journal_mode=WAL", page_size));
    from.execute(
        "CREATE TABLE made(content); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n"
        " WHERE i<300) INSERT INTO made SELECT randomblob(i*20) FROM n");

    const std::string path = folder / name;
    const quarry::base::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    const std::int64_t size = copy_to_new(
        from, std::make_unique<Database>(path, Mode::kReadWrite, std::chrono::seconds(0)),
        file.get());
    CHECK(size == from.first_integer("PRAGMA page_count") * page_size);
    CHECK(static_cast<std::int64_t>(std::filesystem::file_size(path)) == size);
    Database copy(path, Mode::kReadOnly, std::chrono::seconds(0));
    CHECK(copy.first_text("PRAGMA journal_mode") == "delete");
    CHECK(copy.first_text("PRAGMA integrity_check") == "ok");
    CHECK(copy.first_text(rows) == from.first_text(rows));
  }
}
