// queue.samplinginterval: of so many messages the last one is taken, and the others are not.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "figures.h"
#include "quarry/spool/message.h"
#include "threading.h"

namespace quarry::spool {

class Sampling {
 public:
  explicit Sampling(std::size_t interval) : interval_(interval) {}

  /// Takes samples of MESSAGES to TAKE, which returns how many of what it gets it has taken, from
  /// the first on. Returns up to which of MESSAGES all are done with: what TAKE refuses is where it
  /// was, to be tried again, and is counted then.
  template <typename Take>
  std::size_t pass(std::span<Message> messages, Take&& take, Figures& figures) {
    std::vector<std::size_t> places;
    std::vector<Message> samples;
    for (std::size_t i = interval_ - 1 - seen(messages.size()); i < messages.size();
         i += interval_) {
      places.push_back(i);
      samples.push_back(std::move(messages[i]));
    }
    const std::size_t taken = samples.empty() ? 0 : take(std::span(samples));
    for (std::size_t i = taken; i < samples.size(); ++i) {
      messages[places[i]] = std::move(samples[i]);
    }
    const std::size_t done = taken < samples.size() ? places[taken] : messages.size();
    forget(messages.size() - done);
    figures.left_out += done - taken;
    return done;
  }

  /// What was refused last is not tried again.
  void leave_out_one() { seen(1); }

 private:
  /// How many have come since the last sample, before COUNT others.
  std::size_t seen(std::size_t count) {
    const Lock lock(mutex_);
    const std::size_t before = seen_;
    seen_ = (seen_ + count) % interval_;
    return before;
  }
  void forget(std::size_t count) {
    const Lock lock(mutex_);
    seen_ = (seen_ + interval_ - count % interval_) % interval_;
  }

  std::size_t interval_;
  Mutex mutex_;
  std::size_t seen_ = 0;
};

}  // namespace quarry::spool
