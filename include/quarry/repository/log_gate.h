// How those who use a repository together let its write-ahead log be emptied: for that moment no
// one of them may be reading from it, so whoever empties it holds back who is about to begin.
//
// It is best effort: others may use the file too, and whoever has closed the gate may die. So all
// of it ends by itself after a time, and nothing is wrong when somebody does not keep to it.
#pragma once

#include <chrono>
#include <cstdint>

namespace quarry::repository {

class LogGate {
 public:
  virtual ~LogGate() = default;

  /// From now on whoever uses FILE, a number that stands for it, waits before it begins a
  /// transaction: until open(), or for HOW_LONG. False: another one has closed it, or the last one
  /// did so in vain and its pause is not over.
  virtual bool close(std::uint64_t file, std::chrono::milliseconds how_long) = 0;
  /// After a close() that returned true. Nobody may close it again for PAUSE.
  virtual void open(std::uint64_t file, std::chrono::milliseconds pause) = 0;
  /// Waits while another one has closed it. Costs next to nothing where none has.
  virtual void pass(std::uint64_t file) = 0;
};

}  // namespace quarry::repository
