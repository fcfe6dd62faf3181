// A queue in a temporary folder.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <utility>

#include "quarry/base/file_system.h"
#include "quarry/changes/directories.h"
#include "temporary_folder.h"

namespace changes_test {

namespace changes = quarry::changes;

inline constexpr quarry::base::UnixMillis kNow{1'700'000'000'000};

inline changes::ChangeSetName named(std::string_view digits,
                                    changes::MoveType type = changes::MoveType::kDevelopment,
                                    quarry::base::UnixMillis time = kNow) {
  std::string id(digits);
  id.resize(16, '0');
  return {.id = *changes::ChangeSetId::parse(id),
          .tai = changes::tai64n(time),
          .pid = 1,
          .host = "h",
          .type = type,
          .extra = "ann"};
}

struct Queue {
  TemporaryFolder folder;
  changes::Directories directories{quarry::base::FileSystem::real(), folder / "q.changes"};

  Queue() { REQUIRE(directories.make()); }

  /// Submits NAME, which stays in prequeue/.
  void submit(const changes::ChangeSetName& name) {
    auto file = directories.begin(name);
    REQUIRE(file);
    REQUIRE((*file)->append("a tarball"));
    REQUIRE(directories.submit(
        name, std::move(*file),
        {.submitter = "ann", .capabilities = "io", .address = "192.0.2.1", .time = kNow}));
  }
  /// Adds the change set NAME in STAGE. Its submitter is ann, and it changes one file on trunk.
  void put(const changes::ChangeSetName& name, changes::Stage stage = changes::Stage::kQueue,
           std::string_view why = "checked") {
    submit(name);
    auto lock = directories.lock_job(changes::Stage::kPrequeue, name);
    REQUIRE(lock);
    lock->job.submitter = "ann";
    lock->job.meta.target = "trunk";
    lock->job.meta.base = std::string(64, 'b');
    lock->job.meta.files = {"a"};
    lock->job.meta.comment = "The first line\nand more";
    REQUIRE(lock->move(changes::Stage::kQueue, kNow, "checked"));
    if (stage != changes::Stage::kQueue) REQUIRE(lock->move(stage, kNow, why));
  }
  changes::JobLocation place_of(const changes::ChangeSetName& name) const {
    const auto location = directories.find(name.id);
    REQUIRE(location);
    REQUIRE(*location);
    return **location;
  }
};

}  // namespace changes_test
