// Accesses the files of a disk queue for `quarry spool`, even while another process uses the files.
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
  std::uint64_t messages = 0;  // undelivered messages, including unreadable messages
  std::uint64_t bytes = 0;     // size of all segments
  std::uint64_t segments = 0;
  std::vector<std::string> damaged;  // names of damaged files that were kept
  bool has_writer = false;           // whether a process enqueues messages
  bool has_reader = false;           // whether a process delivers messages
};

/// Returns the status of the queue at LOCATION. Read-only. Reports an incomplete last message to
/// REPORTER. Errors: kNotFound (the directory does not exist), and file system errors.
Result<SpoolStatus> spool_status(const SpoolLocation& location, const Reporter& reporter,
                                 base::FileSystem& files = base::FileSystem::real());

/// Calls VISITOR with each undelivered message and its number, starting from 1, until VISITOR
/// returns false. Read-only. Unreadable messages are reported to REPORTER.
Result<void> visit_spool(
    const SpoolLocation& location,
    const std::function<bool(std::uint64_t number, const Message& message)>& visitor,
    const Reporter& reporter, base::FileSystem& files = base::FileSystem::real());

/// Deletes all messages that exist now. Another process can enqueue messages at the same time.
/// Returns the number of deleted messages. Errors: kBusy (another process delivers messages).
Result<std::uint64_t> purge_spool(const SpoolLocation& location, const Reporter& reporter,
                                  base::FileSystem& files = base::FileSystem::real());

/// Recovers messages from damaged segments that were kept. For each segment, the readable messages
/// after the damage are appended to the queue, all or none, and the segment is removed. Returns the
/// number of recovered messages. Errors: kBusy (another process enqueues messages), and file system
/// errors.
Result<std::uint64_t> replay_spool(const SpoolLocation& location, const Reporter& reporter,
                                   base::FileSystem& files = base::FileSystem::real());

/// Takes messages from the files. Another process can append messages at the same time.
class Drain {
 public:
  /// Opens the queue. Errors: kBusy (another process delivers messages), and file system errors.
  static Result<std::unique_ptr<Drain>> open(const SpoolLocation& location,
                                             const QueueOptions& options, const Reporter& reporter,
                                             base::FileSystem& files = base::FileSystem::real());
  ~Drain();
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;

  /// Returns the next messages, at most MAX, or an empty list. Errors: file system errors.
  Result<std::vector<Message>> next(std::size_t max);
  /// Marks the next COUNT messages as delivered, in the order in which next() returned them. A
  /// later Drain starts with the first message that is not marked.
  void settle(std::size_t count);
  /// Deletes the messages that existed when open() was called. Returns the number of deleted
  /// messages.
  Result<std::uint64_t> forget_found();
  /// Writes the read position. Removes the files if the queue is empty and no process writes to the
  /// queue.
  Result<void> finish();

 private:
  struct State;
  explicit Drain(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace quarry::spool
