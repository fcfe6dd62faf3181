// The environment of the repository tests: a repository in a temporary folder, artifacts, and the
// fossil program as a reference.
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
  /// Calls ACTION with a receipt and commits the receipt.
  template <typename Action>
  void receive(Action&& action) {
    auto receipt = repository->receive();
    if (!receipt) throw std::runtime_error(receipt.error().message);
    receipt->set_sender({.uid = 1, .login_nonce = {}, .address = "192.0.2.1"});
    action(*receipt);
    if (const auto done = receipt->commit(); !done) throw std::runtime_error(done.error().message);
  }
  /// Stores CONTENT whole in a separate receipt.
  artifact::HashName put(std::string_view content);
  void put_all(const std::vector<std::string>& contents);
  /// Stores TARGET as a delta on SOURCE. Unless BYTES is empty, it replaces the correct delta.
  void put_delta(std::string_view target, std::string_view source, std::string bytes = {});
  /// Stores CONTENT whole as a private artifact.
  artifact::HashName put_private(std::string_view content);
  /// Returns the name of the initial check-in.
  artifact::HashName root() const;
  /// Closes the repository and opens it again.
  void reopen(OpenOptions options = {});
  /// Returns the first column of the first row of a query as text.
  std::string sql(const std::string& sql) const;
  /// Runs `fossil ARGUMENTS` and returns true if it succeeds. Its output is stored in
  /// `fossil_output`.
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
/// Returns a check-in by USER, MINUTE minutes after the start of HeldClock. Unless CONTENT is
/// empty, the check-in contains it as the file a.txt.
std::string check_in_on(const std::vector<artifact::HashName>& parents, int minute,
                        const std::vector<artifact::CheckInText::Tag>& tags = {},
                        std::string_view content = {}, const std::string& user = "ann");
/// Returns all artifacts in WORLD's file by name, read through a separate connection.
std::map<std::string, std::string> contents(const World& world);
/// Returns the rows of the derived tables in FILE.
std::vector<std::string> derived_text(const std::filesystem::path& file);
/// Returns the rows that only one of the two lists contains, each marked with the name of its list.
/// Returns an empty string if the lists are equal.
std::string difference(const std::vector<std::string>& ours,
                       const std::vector<std::string>& fossils);
/// Returns the faults that verify() finds, and the numbers of rows that depend on the order of
/// processing. The result is empty if nothing is found.
std::string faults(const std::filesystem::path& file);
/// Returns the faults that verify() finds, for files after `fossil rebuild`. Ignores rows that
/// depend on the order of processing.
std::string faults_in_any_order(const std::filesystem::path& file);
/// Compares WORLD's derived tables with our recomputation, and a copy's derived tables with the
/// result of `fossil rebuild`. Ignores rows that depend on the order of processing in fossil.
void check_derived(World& world);

}  // namespace quarry::repository::test
