// Input: the cards of a request by a user with all capabilities, on a real repository file.
//
// Each reply must end correctly. The repository file is verified and recreated regularly, so that a
// finding can be reproduced with few inputs.
#include <stdlib.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "quarry/repository/repository.h"
#include "quarry/repository/whole_file.h"
#include "quarry/sync/server_session.h"
#include "require.h"

namespace {

namespace fs = std::filesystem;
using quarry::repository::ConfigRecord;
using quarry::repository::Repository;
using quarry::repository::SqlLiteral;

constexpr int kRenewedEvery = 2000;

fs::path folder() {
  static const fs::path made = [] {
    const bool in_memory = fs::exists("/dev/shm");
    std::string name =
        (in_memory ? fs::path("/dev/shm") : fs::temp_directory_path()) / "fuzz-XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    static const std::string kept = name;
    ::atexit([] {
      std::error_code ignored;
      fs::remove_all(kept, ignored);
    });
    return fs::path(kept);
  }();
  return made;
}

/// Prints the faults of the file, and aborts if there are any.
void check(const fs::path& path) {
  const auto verified = quarry::repository::verify(path);
  REQUIRE(verified.has_value());
  for (const std::string& fault : verified->faults) std::fprintf(stderr, "%s\n", fault.c_str());
  REQUIRE(verified->faults.empty());
  REQUIRE(verified->order_dependent.empty());
}

void give_nobody_all_capabilities(Repository& repository) {
  auto receipt = repository.receive();
  REQUIRE(receipt.has_value());
  // This record is newer than the built-in user `nobody`, so it replaces that user.
  const ConfigRecord record{
      .table = "user",
      .mtime = INT64_C(4000000000),
      .key = "nobody",
      .columns = {{"cap", {.kind = SqlLiteral::Kind::kText, .integer = 0, .bytes = "asxyge"}}}};
  REQUIRE(receipt->merge_config(record).value());
  REQUIRE(receipt->set_config("project-code", std::string(40, '1')).has_value());
  REQUIRE(receipt->commit().has_value());
}

std::unique_ptr<Repository> make_repository() {
  const fs::path path = folder() / "r.fossil";
  for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(path.string() + suffix);
  REQUIRE(quarry::repository::init(path, {.project_name = "fuzz", .user = "u", .password = "p"}));
  auto opened = Repository::open(path, {.max_artifact_size = std::size_t{1} << 20});
  REQUIRE(opened.has_value());
  give_nobody_all_capabilities(**opened);
  return std::move(*opened);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static std::unique_ptr<Repository> repository;
  static int runs = 0;
  static const quarry::sync::SessionOptions options{.max_body = std::size_t{1} << 20,
                                                    .max_cards = 1000};
  if (runs++ % kRenewedEvery == 0) {
    if (repository) {
      const fs::path path = repository->path();
      repository.reset();
      check(path);
    }
    repository = make_repository();
  }
  const quarry::sync::Reply reply =
      quarry::sync::answer(*repository, options,
                           {.content_type = "application/x-fossil-debug",
                            .body = {reinterpret_cast<const char*>(data), size},
                            .remote_address = "192.0.2.7"});
  REQUIRE(reply.status == 200);
  REQUIRE(reply.body.find("# timestamp ") != std::string::npos);
  REQUIRE(reply.body.ends_with(reply.figures.error.empty() ? "errors 0\n" : "errors 1\n"));
  REQUIRE(!reply.figures.is_fault);
  return 0;
}
