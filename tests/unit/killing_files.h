// Real files for a process that is killed (SIGKILL) before one of its file operations. Sync
// operations do nothing, because the kernel keeps the written data when a process is killed.
#pragma once

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "quarry/base/file_system.h"

/// Allows the given number of calls of burn(). The next call kills the process with SIGKILL.
class Fuse {
 public:
  static constexpr int kEndless = INT_MAX;
  explicit Fuse(int operations) : left_(operations) {}
  void burn() {
    if (left_.fetch_sub(1) == 0) ::raise(SIGKILL);
  }

 private:
  std::atomic<int> left_;
};

class KillingFile final : public quarry::base::File {
 public:
  KillingFile(std::unique_ptr<quarry::base::File> file, Fuse& fuse)
      : file_(std::move(file)), fuse_(fuse) {}
  quarry::base::Result<std::size_t> read_at(std::uint64_t offset, std::span<char> buffer) override {
    return file_->read_at(offset, buffer);
  }
  quarry::base::Result<void> append(std::string_view bytes) override {
    fuse_.burn();
    // Appends in two parts, so that the process can also be killed in the middle of a write.
    if (auto half = file_->append(bytes.substr(0, bytes.size() / 2)); !half) return half;
    fuse_.burn();
    return file_->append(bytes.substr(bytes.size() / 2));
  }
  quarry::base::Result<void> truncate(std::uint64_t size) override {
    fuse_.burn();
    return file_->truncate(size);
  }
  quarry::base::Result<std::uint64_t> size() override { return file_->size(); }
  quarry::base::Result<void> sync() override {
    fuse_.burn();
    return {};
  }
  quarry::base::Result<bool> has_name() override { return file_->has_name(); }
  quarry::base::Result<bool> try_lock() override { return file_->try_lock(); }
  quarry::base::Result<bool> is_locked() override { return file_->is_locked(); }

 private:
  std::unique_ptr<quarry::base::File> file_;
  Fuse& fuse_;
};

class KillingFiles final : public quarry::base::FileSystem {
 public:
  explicit KillingFiles(Fuse& fuse) : fuse_(fuse) {}
  quarry::base::Result<std::unique_ptr<quarry::base::File>> open(
      const std::filesystem::path& path, quarry::base::FileUse use) override {
    if (use != quarry::base::FileUse::kRead) fuse_.burn();
    auto file = real().open(path, use);
    if (!file) return file;
    return std::make_unique<KillingFile>(std::move(*file), fuse_);
  }
  quarry::base::Result<void> rename(const std::filesystem::path& from,
                                    const std::filesystem::path& to) override {
    fuse_.burn();
    return real().rename(from, to);
  }
  quarry::base::Result<void> remove(const std::filesystem::path& path) override {
    fuse_.burn();
    return real().remove(path);
  }
  quarry::base::Result<std::vector<std::string>> list(
      const std::filesystem::path& folder) override {
    return real().list(folder);
  }
  quarry::base::Result<void> make_folder(const std::filesystem::path& folder) override {
    return real().make_folder(folder);
  }
  quarry::base::Result<void> sync_directory(const std::filesystem::path& /*folder*/) override {
    fuse_.burn();
    return {};
  }

 private:
  Fuse& fuse_;
};

/// Runs LIVE in a child process, which must exit with 0 or be killed with SIGKILL. LIVE writes
/// records of two bytes to PIPE: a letter and a number. HEAR is called for each record.
inline void hear_of_life(const std::function<void(int pipe)>& live,
                         const std::function<void(char what, std::uint8_t number)>& hear) {
  std::array<int, 2> pipe{};
  REQUIRE(::pipe(pipe.data()) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::close(pipe[0]);
    live(pipe[1]);
    ::_exit(1);
  }
  ::close(pipe[1]);
  std::array<char, 2> record{};
  while (::read(pipe[0], record.data(), record.size()) == 2) {
    hear(record[0], static_cast<std::uint8_t>(record[1]));
  }
  ::close(pipe[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE((WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 0));
}
