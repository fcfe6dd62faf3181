// Shared by the tests of this module: random bytes from a printed seed, a temporary folder, and the
// real fossil program as a reference.
#pragma once

#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>

namespace quarry::artifact::test {

/// Random numbers from a new seed in each run, or from $QUARRY_TEST_SEED. Print the seed with INFO.
class Random {
 public:
  Random();
  std::uint64_t seed() const { return seed_; }
  /// A number from 0 to LIMIT - 1.
  std::size_t below(std::size_t limit) { return engine_() % limit; }
  std::string bytes(std::size_t size);
  /// Lines of words, like a source file.
  std::string text(std::size_t size);
  /// ORIGINAL with some parts replaced, moved, removed and inserted.
  std::string edited(std::string_view original);

 private:
  std::uint64_t seed_;
  std::mt19937_64 engine_;
};

class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  std::string path(std::string_view name) const { return (path_ / name).string(); }
  /// Writes a file and returns its path.
  std::string write(std::string_view name, std::string_view content) const;
  std::string read(std::string_view name) const;
  /// Runs a shell SCRIPT in this folder, which is also its HOME. Returns what it wrote to standard
  /// output and standard error.
  std::string shell(const std::string& script) const;
  /// Runs `fossil ARGUMENTS` in the same way.
  std::string fossil(const std::string& arguments) const { return shell("fossil " + arguments); }

 private:
  std::filesystem::path path_;
};

/// Whether a fossil program is installed on this machine.
bool have_fossil();

}  // namespace quarry::artifact::test
