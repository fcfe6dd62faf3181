// Access to the files of a disk queue from other processes, for `quarry spool`.
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

/// The files NAME.* in FOLDER.
struct SpoolLocation {
  std::filesystem::path folder;
  std::string name;
};

struct SpoolStatus {
  std::uint64_t messages = 0;  // not delivered, including unreadable ones
  std::uint64_t bytes = 0;     // of all segments
  std::uint64_t segments = 0;
  std::vector<std::string> damaged;  // names of damaged files that were set aside
  bool has_writer = false;           // a process is enqueueing
  bool has_reader = false;           // a process is delivering
};

/// Read-only. Errors: kNotFound (no such directory), and file system errors.
base::Result<SpoolStatus> spool_status(const SpoolLocation& location,
                                       base::FileSystem& files = base::FileSystem::real());

/// Calls VISITOR with each undelivered message and its number, from 1 on, until it returns false.
/// Read-only. Unreadable messages are reported to REPORTER.
base::Result<void> visit_spool(
    const SpoolLocation& location,
    const std::function<bool(std::uint64_t number, const Message& message)>& visitor,
    const Reporter& reporter, base::FileSystem& files = base::FileSystem::real());

/// Deletes all messages that exist now; another process may continue to enqueue. Returns how many.
/// Errors: kBusy (a process is delivering).
base::Result<std::uint64_t> purge_spool(const SpoolLocation& location, const Reporter& reporter,
                                        base::FileSystem& files = base::FileSystem::real());

/// Appends the readable messages after the damage in segments that were set aside to the queue, and
/// removes these segments one by one; each is appended completely or not at all. Returns the number
/// of messages. Errors: kBusy (a process is enqueueing), and file system errors.
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

  /// The next messages, at most MAX; may be empty. Errors: file system errors.
  base::Result<std::vector<Message>> next(std::size_t max);
  /// Marks the first COUNT unsettled messages that next() has returned as delivered. Messages that
  /// are not settled when the drain ends are returned again by the next drain.
  void settle(std::size_t count);
  /// Deletes the messages that were there on open(). Returns how many.
  base::Result<std::uint64_t> forget_found();
  /// Writes the read position; removes the files of an empty queue without a writer.
  base::Result<void> finish();

 private:
  struct State;
  explicit Drain(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace quarry::spool
