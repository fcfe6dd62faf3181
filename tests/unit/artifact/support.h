// Helpers for the artifact tests: random bytes with a reproducible seed, a temporary folder, and
// the fossil program as a reference.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "temporary_folder.h"

namespace quarry::artifact::test {

/// Generates random numbers. The seed is $QUARRY_TEST_SEED if set, otherwise a new one in each run.
/// Tests print the seed with INFO.
class Random {
 public:
  Random();
  std::uint64_t seed() const { return seed_; }
  /// Returns a number from 0 to LIMIT - 1.
  std::size_t below(std::size_t limit) { return engine_() % limit; }
  std::string bytes(std::size_t size);
  /// Returns lines of words that resemble a source file.
  std::string text(std::size_t size);
  /// Returns ORIGINAL with some parts replaced, moved, removed and inserted.
  std::string edited(std::string_view original);

 private:
  std::uint64_t seed_;
  std::mt19937_64 engine_;
};

class TempDir {
 public:
  std::string path(std::string_view name) const { return (folder_ / name).string(); }
  /// Writes a file and returns its path.
  std::string write(std::string_view name, std::string_view content) const;
  std::string read(std::string_view name) const;
  /// Runs a shell SCRIPT. This folder is its working directory and its home directory. Returns the
  /// standard output and the standard error.
  std::string shell(const std::string& script) const;
  /// Runs `fossil ARGUMENTS` through shell().
  std::string fossil(const std::string& arguments) const { return shell("fossil " + arguments); }

 private:
  TemporaryFolder folder_;
};

/// Returns true if fossil is installed on this machine.
bool have_fossil();

}  // namespace quarry::artifact::test
