#pragma once

#include <cstdint>

#include "quarry/base/time.h"

/// A clock that stands still until advance() is called.
class HeldClock : public quarry::base::Clock {
 public:
  quarry::base::UnixMillis now() const override { return {now_}; }
  void advance(std::int64_t millis) { now_ += millis; }

 private:
  std::int64_t now_ = 1700000000000;
};
