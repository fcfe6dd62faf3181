// Enqueues messages. While the queue is too full, producers that can wait are delayed, and the
// messages of other producers are rejected. In a disk queue, one producer writes the messages of
// all waiting producers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>

#include "delivery.h"
#include "disk_assistance.h"
#include "engine_state.h"
#include "quarry/base/result.h"
#include "quarry/spool/message.h"
#include "threading.h"

namespace quarry::spool {

class Intake {
 public:
  /// Creates the intake. The arguments are not owned and must outlive this object.
  Intake(EngineState& state, DeliveryWorkers& workers, DiskAssistance& assistance)
      : state_(state), workers_(workers), assistance_(assistance) {}

  /// Implements Queue::enqueue(). Called without the mutex.
  std::size_t enqueue(std::span<Message> messages, Delay delay, Error* error);
  /// Returns the number of MESSAGES before the first message that is longer than MAX. If such a
  /// message exists, sets *error.
  static std::size_t count_good(std::size_t max, std::span<const Message> messages, Error* error);
  /// Waits until all current enqueue() calls have their results.
  void finish(Lock& lock);

 private:
  struct Waiting;  // a producer of a disk queue

  bool wait_until_ready(Lock& lock, TimePoint deadline, const std::function<bool()>& is_ready);
  bool wait_for_room(Lock& lock, const Message& message, Delay delay, Error* error);
  void help_reader_on();
  std::size_t room(Delay delay) const;
  std::size_t room_for(Delay delay) const;
  std::size_t max_content() const;
  std::size_t to_memory(std::span<Message> messages, Delay delay, Error* error);
  std::size_t to_disk(std::span<Message> messages, Delay delay, Error* error);
  bool write(Waiting& one);
  std::size_t push_together(Lock& lock, std::span<Message> messages, Error* error);
  void push_group(Lock& lock);
  void messages_came();

  EngineState& state_;
  DeliveryWorkers& workers_;
  DiskAssistance& assistance_;
  std::deque<Waiting*> group_;            // producers whose messages are not written yet
  bool is_writing_ = false;               // a thread is writing a group
  std::uint64_t left_at_last_check_ = 0;  // messages that another process has to deliver
  TimePoint stuck_since_{};
};

}  // namespace quarry::spool
