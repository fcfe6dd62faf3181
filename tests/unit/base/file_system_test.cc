#include "quarry/base/file_system.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "temporary_folder.h"

using quarry::base::ErrorCode;
using quarry::base::File;
using quarry::base::FileSystem;
using quarry::base::Result;

namespace {

/// Counts the calls of sync(), and can make them fail.
class CountedFile final : public File {
 public:
  explicit CountedFile(bool fails = false) : fails_(fails) {}
  Result<std::size_t> read_at(std::uint64_t, std::span<char>) override { return 0; }
  Result<void> append(std::string_view) override { return {}; }
  Result<void> truncate(std::uint64_t) override { return {}; }
  Result<std::uint64_t> size() override { return 0; }
  Result<void> sync() override {
    ++syncs;
    if (fails_) return quarry::base::fail(ErrorCode::kNoSpace, "full");
    return {};
  }
  Result<bool> has_name() override { return true; }
  Result<bool> try_lock() override { return true; }
  Result<bool> is_locked() override { return false; }

  std::atomic<int> syncs = 0;

 private:
  bool fails_;
};

}  // namespace

TEST_CASE("only regular files can be opened") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "folder");
  std::filesystem::create_symlink("folder", folder / "link");
  REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
  for (const char* name : {"folder", "link", "fifo"}) {
    for (const FileUse use : {FileUse::kRead, FileUse::kAppend, FileUse::kOpenOrMake}) {
      const auto opened = FileSystem::real().open(folder / name, use);
      REQUIRE_FALSE(opened);
      CHECK(opened.error().code == ErrorCode::kInvalid);
      CHECK(opened.error().message.ends_with("not a regular file"));
    }
  }
}

TEST_CASE("several files are synced together, each of them once, and one failure makes all fail") {
  for (const std::size_t count : {0U, 1U, 2U, 3U, 50U}) {
    for (const std::size_t failing : {count, count / 2}) {
      std::vector<std::unique_ptr<CountedFile>> files;
      std::vector<File*> all;
      for (std::size_t i = 0; i < count; ++i) {
        all.push_back(files.emplace_back(std::make_unique<CountedFile>(i == failing)).get());
      }
      const auto synced = FileSystem::real().sync_all(all);
      CHECK(synced.has_value() == (failing == count));
      if (!synced) CHECK(synced.error().code == ErrorCode::kNoSpace);
      for (const auto& file : files) CHECK(file->syncs == 1);
    }
  }
}

TEST_CASE("folders are synced together, and a missing one is an error") {
  const TemporaryFolder folder;
  const std::vector<std::filesystem::path> there(9, folder.path());
  CHECK(FileSystem::real().sync_directories(there));
  std::vector<std::filesystem::path> one_gone = there;
  one_gone[4] = folder / "gone";
  CHECK(FileSystem::real().sync_directories(one_gone).error().code == ErrorCode::kNotFound);
}
