// queue.samplinginterval: keeps only the last message of every interval.
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

  /// The outcome for samples: the first COUNT were accepted; the next one was discarded, or may be
  /// tried again.
  struct Taken {
    std::size_t count;
    bool is_next_discarded;
  };

  /// Passes samples of MESSAGES to TAKE, which returns Taken. Returns how many of MESSAGES are
  /// done. A sample that TAKE refuses stays in place and is counted again at the next attempt; one
  /// that was discarded is skipped.
  template <typename Take>
  std::size_t pass(std::span<Message> messages, Figures& figures, Take&& take) {
    std::vector<std::size_t> indices;
    std::vector<Message> samples;
    for (std::size_t i = interval_ - 1 - seen(messages.size()); i < messages.size();
         i += interval_) {
      indices.push_back(i);
      samples.push_back(std::move(messages[i]));
    }
    const auto [taken, is_next_discarded] =
        samples.empty() ? Taken{0, false} : take(std::span(samples));
    for (std::size_t i = taken; i < samples.size(); ++i) {
      messages[indices[i]] = std::move(samples[i]);
    }
    const std::size_t done = taken < samples.size() ? indices[taken] : messages.size();
    forget(messages.size() - done - (is_next_discarded ? 1 : 0));
    figures.left_out += done - taken;
    return done;
  }

 private:
  /// The number of messages since the last sample, before COUNT further ones.
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
