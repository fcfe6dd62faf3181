// What decides when children of a service are started: told of what happens, it asks Children. One
// class for what is kept running (scaling.h), one for what runs once (job/jobs.h).
#pragma once

#include <cstddef>

#include "quarry/base/result.h"

namespace quarry::master {

struct Remains;

/// Whether a child's end has left a place for another.
enum class Vacancy { kFree, kReserved };

class Starter {
 public:
  virtual ~Starter() = default;

  /// Watches what wakes the service, where anything does. Errors: kIo.
  virtual base::Result<void> set_up() = 0;
  /// Starts what the service begins with. False: nothing of it could be started, and not for want
  /// of room.
  virtual bool begin() = 0;
  virtual void second_passed() = 0;
  /// A child has ended; not while the master stops.
  virtual Vacancy child_ended(const Remains& remains) = 0;
  /// Takes the place of that child, if it is wanted.
  virtual void fill_vacancy(const Remains& remains) = 0;
  /// There may be room under process.max, for a service that had to do with less.
  virtual void room_available() = 0;
  /// Whether it would have more children, if it could.
  virtual bool is_short() const = 0;
};

}  // namespace quarry::master
