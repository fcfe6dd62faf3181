// Gives `quarry spool` access to the files of a disk queue that another process may be using.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "quarry/base/file_system.h"
#include "quarry/base/result.h"
#include "quarry/spool/message.h"
#include "quarry/spool/options.h"
#include "quarry/spool/queue.h"

namespace quarry::spool {

/// Identifies the files NAME.* in FOLDER.
struct SpoolLocation {
  std::filesystem::path folder;
  std::string name;
};

struct SpoolStatus {
  std::uint64_t messages = 0;  // messages that are not delivered, including unreadable ones
  std::uint64_t bytes = 0;     // size of all segments
  std::uint64_t segments = 0;
  std::vector<std::string> damaged;  // names of damaged files that were set aside
  bool has_writer = false;           // whether a process is enqueueing
  bool has_reader = false;           // whether a process is delivering
};

/// Returns the status of the queue at LOCATION. Read-only. Errors: kNotFound (the directory does
/// not exist), and file system errors.
base::Result<SpoolStatus> spool_status(const SpoolLocation& location,
                                       base::FileSystem& files = base::FileSystem::real());

/// Calls VISITOR with each undelivered message and its number, starting from 1, until it returns
/// false. Read-only. Unreadable messages are reported to REPORTER.
base::Result<void> visit_spool(
    const SpoolLocation& location,
    const std::function<bool(std::uint64_t number, const Message& message)>& visitor,
    const Reporter& reporter, base::FileSystem& files = base::FileSystem::real());

/// Deletes all messages that exist now; meanwhile another process may continue to enqueue. Returns
/// the number of deleted messages. Errors: kBusy (a process is delivering).
base::Result<std::uint64_t> purge_spool(const SpoolLocation& location, const Reporter& reporter,
                                        base::FileSystem& files = base::FileSystem::real());

/// Recovers messages from damaged segments that were set aside. The readable messages after the
/// damage are appended to the queue and the segments are removed, one by one; each is appended
/// completely or not at all. Returns the number of messages. Errors: kBusy (a process is
/// enqueueing), and file system errors.
base::Result<std::uint64_t> replay_spool(const SpoolLocation& location, const Reporter& reporter,
                                         base::FileSystem& files = base::FileSystem::real());

/// Takes messages from the files while another process may append.
class Drain {
 public:
  /// Errors: kBusy (another process is delivering), and file system errors.
  static base::Result<std::unique_ptr<Drain>> open(
      const SpoolLocation& location, const QueueOptions& options, const Reporter& reporter,
      base::FileSystem& files = base::FileSystem::real());
  ~Drain();
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;

  /// Returns the next messages, at most MAX; there may be none. Errors: file system errors.
  base::Result<std::vector<Message>> next(std::size_t max);
  /// Marks the first COUNT unsettled messages that next() has returned as delivered. The next drain
  /// returns the messages that are not settled when this one ends.
  void settle(std::size_t count);
  /// Deletes the messages that existed when open() was called. Returns the number of deleted
  /// messages.
  base::Result<std::uint64_t> forget_found();
  /// Writes the read position, and removes the files if the queue is empty and has no writer.
  base::Result<void> finish();

 private:
  struct State;
  explicit Drain(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace quarry::spool
