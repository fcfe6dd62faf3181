// The files of a disk queue from outside of the process that uses them: what `quarry spool` does.
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

/// Which files: NAME.* in FOLDER.
struct SpoolLocation {
  std::filesystem::path folder;
  std::string name;
};

struct SpoolStatus {
  std::uint64_t messages = 0;  // not delivered, by their numbers: damage shows when they are read
  std::uint64_t bytes = 0;     // of all segments
  std::uint64_t segments = 0;
  std::vector<std::string> damaged;  // files that were set aside
  bool has_writer = false;           // a process enqueues
  bool has_reader = false;           // a process delivers
};

/// Looks, and changes nothing. Errors: kNotFound (there is no such folder), and what the disk says.
base::Result<SpoolStatus> spool_status(const SpoolLocation& location,
                                       base::FileSystem& files = base::FileSystem::real());

/// Shows VISITOR every message that is not delivered, with its number from 1 on, until it returns
/// false; changes nothing. What cannot be read is told to REPORTER.
base::Result<void> visit_spool(
    const SpoolLocation& location,
    const std::function<bool(std::uint64_t number, const Message& message)>& visitor,
    const Reporter& reporter, base::FileSystem& files = base::FileSystem::real());

/// Forgets all messages that are there now, also while a process enqueues others. Returns how many.
/// Errors: kBusy (a process delivers).
base::Result<std::uint64_t> purge_spool(const SpoolLocation& location, const Reporter& reporter,
                                        base::FileSystem& files = base::FileSystem::real());

/// Puts the messages that can be read in segments set aside, behind what made them so, at the end
/// of the queue, and removes those segments, one after the other: a segment is put there as a
/// whole, or not at all. Returns how many messages. Errors: kBusy (a process enqueues), and what
/// the disk says.
base::Result<std::uint64_t> replay_spool(const SpoolLocation& location, const Reporter& reporter,
                                         base::FileSystem& files = base::FileSystem::real());

/// Takes messages from the files, while another process may put others there.
class Drain {
 public:
  /// Errors: kBusy (another process delivers), and what the disk says.
  static base::Result<std::unique_ptr<Drain>> open(
      const SpoolLocation& location, const QueueOptions& options, const Reporter& reporter,
      base::FileSystem& files = base::FileSystem::real());
  ~Drain();
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;

  /// The next messages, MOST at most; none if there are none now. Errors: what the disk says.
  base::Result<std::vector<Message>> next(std::size_t max);
  /// The first COUNT of all that next() has given, and that are not settled yet, are done with.
  /// What is not when the drain ends comes again in the next one.
  void settle(std::size_t count);
  /// How many next() has given that are not settled.
  std::size_t unsettled() const;
  /// Forgets what was there when this was opened. Returns how many messages that were.
  base::Result<std::uint64_t> forget_found();
  /// Writes down how far this has come; removes the files of an empty queue that nobody writes to.
  base::Result<void> finish();

 private:
  struct State;
  explicit Drain(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace quarry::spool
