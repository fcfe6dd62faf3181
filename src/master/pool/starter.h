// Decides when children of a service are started: Scaling for services that are kept running
// (scaling.h), Jobs for programs that run once (job/jobs.h).
#pragma once

#include <cstddef>

#include "quarry/base/result.h"

namespace quarry::master {

struct Remains;

/// Whether the place of a child that has ended is free for other services, or reserved for its
/// replacement.
enum class Vacancy { kFree, kReserved };

class Starter {
 public:
  virtual ~Starter() = default;

  /// Registers the events that wake the service, if any. Errors: kIo.
  virtual base::Result<void> set_up() = 0;
  /// Starts the initial children. False if none could be started, for a reason other than a limit.
  virtual bool begin() = 0;
  virtual void second_passed() = 0;
  /// Handles the end of a child. Not called while the master is stopping.
  virtual Vacancy child_ended(const Remains& remains) = 0;
  /// Replaces that child, if needed.
  virtual void fill_vacancy(const Remains& remains) = 0;
  /// Called when process.max may permit further children of a service that was held back.
  virtual void room_available() = 0;
  /// Whether the service needs more children than it can start.
  virtual bool is_short() const = 0;
};

}  // namespace quarry::master
