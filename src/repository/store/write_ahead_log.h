// When the write-ahead log of one connection is copied into the file: never inside a commit, where
// a client waits, but after the reply.
//
//   above the bound    with FULL, waiting for nobody: who is reading hinders it, and then only some
//                      of it is copied. A log that was copied whole is begun anew by the next
//                      writer, unless somebody still reads from it
//   above 8 times it   readers that overlap have kept that from happening: with TRUNCATE, which
//                      waits a moment for those who read, while the gate holds new ones back. Not
//                      again for a while where that was not enough
//   when idle          with TRUNCATE, waiting for nobody, so that there is nothing in the log
//
// The write lock is held meanwhile, by rule (a) of log_locks.h, so writers wait for it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "database.h"
#include "quarry/repository/log_gate.h"

namespace quarry::repository {

class WriteAheadLog {
 public:
  /// BOUND in bytes, of which some 64 thousand are the least that makes sense. DATABASE must stay
  /// where it is, and outlive this.
  WriteAheadLog(Database& database, std::size_t bound);
  WriteAheadLog(const WriteAheadLog&) = delete;
  WriteAheadLog& operator=(const WriteAheadLog&) = delete;

  /// Copies what has to be, if this connection has committed anything since the last call. GATE is
  /// that of FILE. Afterwards the database's busy handler has to be set again. Throws SqliteError.
  void keep_short(LogGate& gate, std::uint64_t file);
  /// The same for all of it. False: somebody is using it. Throws SqliteError.
  bool empty();
  /// Above which it is emptied whoever reads, in bytes.
  std::size_t limit() const { return kTooLong * bound_; }
  /// What is in the log after this connection's last commit, in bytes.
  std::size_t size();

 private:
  static constexpr std::size_t kTooLong = 8;

  static int committed(void* self, sqlite3* handle, const char* name, int frames);
  bool checkpoint(int mode);
  /// Whether another connection holds the write lock, where no busy handler is set.
  bool is_being_written();
  void empty_behind(LogGate& gate, std::uint64_t file);

  Database& database_;
  std::size_t bound_;
  std::size_t frame_size_ = 0;  // 0: not known yet
  std::size_t frames_ = 0;
  bool has_grown_ = false;
};

/// The gate of a process that uses a file with nobody it knows of.
class LonelyGate : public LogGate {
 public:
  bool close(std::uint64_t file, std::chrono::milliseconds how_long) override;
  void open(std::uint64_t file, std::chrono::milliseconds pause) override;
  void pass(std::uint64_t file) override;

 private:
  std::chrono::steady_clock::time_point not_before_{};
};

}  // namespace quarry::repository
