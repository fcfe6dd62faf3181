// The environment of the repository tests: a temporary folder, a repository in it, artifacts to
// store, and the real fossil as a reference.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "held_clock.h"
#include "quarry/artifact/structural.h"
#include "quarry/repository/repository.h"
#include "quarry/repository/whole_file.h"
#include "temporary_folder.h"

namespace quarry::repository::test {

class World {
 public:
  World();
  std::filesystem::path file() const { return folder / "test.fossil"; }
  /// Runs ACTION in a receipt and commits it.
  template <typename Action>
  void receive(Action&& action) {
    auto receipt = repository->receive();
    if (!receipt) throw std::runtime_error(receipt.error().message);
    receipt->set_sender({.uid = 1, .login_nonce = {}, .address = "192.0.2.1"});
    action(*receipt);
    if (const auto done = receipt->commit(); !done) throw std::runtime_error(done.error().message);
  }
  /// Stores CONTENT whole, in a separate receipt.
  artifact::HashName put(std::string_view content);
  void put_all(const std::vector<std::string>& contents);
  /// Stores TARGET as a delta on SOURCE. BYTES, unless empty, is used instead of the correct delta.
  void put_delta(std::string_view target, std::string_view source, std::string bytes = {});
  /// Stores CONTENT whole, as a private artifact.
  artifact::HashName put_private(std::string_view content);
  /// The initial check-in.
  artifact::HashName root() const;
  /// Closes the repository, and opens it again.
  void reopen(OpenOptions options = {});
  /// The first column of the first row of the result of SQL, as text.
  std::string sql(const std::string& sql) const;
  /// Runs `fossil ARGUMENTS`, and returns whether it succeeded. Its output goes to `fossil_output`.
  bool fossil(const std::string& arguments);

  TemporaryFolder folder;
  HeldClock clock;
  std::unique_ptr<Repository> repository;
  std::string fossil_output;
};

artifact::HashName name_of(std::string_view content);
Arrival whole(std::string_view content);
Arrival delta(const artifact::HashName& name, const artifact::HashName& source,
              std::string_view bytes);
Arrival private_one(std::string_view content);
/// A check-in by USER with the parents PARENTS, MINUTE minutes after HeldClock's start, with TAGS,
/// and with CONTENT as the file a.txt if it is not empty.
std::string check_in_on(const std::vector<artifact::HashName>& parents, int minute,
                        const std::vector<artifact::CheckInText::Tag>& tags = {},
                        std::string_view content = {}, const std::string& user = "ann");
/// All contents in WORLD's file by name, read by a separate connection.
std::map<std::string, std::string> contents(const World& world);
/// The rows of FILE's derived tables.
std::vector<std::string> derived_text(const std::filesystem::path& file);
/// The rows that only one of two lists of rows has, each marked with the name of its list; empty if
/// they are equal.
std::string difference(const std::vector<std::string>& ours,
                       const std::vector<std::string>& fossils);
/// The faults that verify() finds, and its counts of rows that depend on the order of processing,
/// as one text; empty if there are none.
std::string faults(const std::filesystem::path& file);
/// The same without those counts, for a file after `fossil rebuild`.
std::string faults_in_any_order(const std::filesystem::path& file);
/// Checks the derived tables of WORLD's file against our recomputation, and those of a copy against
/// fossil's rebuild, except for rows that depend on its order of processing.
void check_derived(World& world);

}  // namespace quarry::repository::test
