// Owning handles for the objects of libevent.
#pragma once

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

namespace quarry::base {

template <auto kFree>
struct FreeWith {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};

using EventBasePtr = std::unique_ptr<event_base, FreeWith<event_base_free>>;
using EventPtr = std::unique_ptr<event, FreeWith<event_free>>;
using BufferEventPtr = std::unique_ptr<bufferevent, FreeWith<bufferevent_free>>;
using EventBufferPtr = std::unique_ptr<evbuffer, FreeWith<evbuffer_free>>;
using HttpServerPtr = std::unique_ptr<evhttp, FreeWith<evhttp_free>>;

inline timeval to_timeval(std::chrono::milliseconds time) {
  return {.tv_sec = time.count() / 1000, .tv_usec = time.count() % 1000 * 1000};
}

class Event {
 public:
  using Action = std::function<void()>;

  /// Creates an empty handle.
  Event() = default;
  /// Creates an event in BASE for a descriptor or signal. If FD_OR_SIGNAL is -1, the event is a
  /// timer. WHAT is the same as for event_new(3). The event is not pending until wait() is called.
  /// BASE and the descriptor must outlive the event. ACTION must not destroy the event.
  Event(event_base* base, int fd_or_signal, short what, Action action)
      : action_(std::make_unique<Action>(std::move(action))),
        event_(::event_new(base, fd_or_signal, what, run, action_.get())) {}

  explicit operator bool() const { return event_ != nullptr; }
  /// Makes the event pending. An event with EV_PERSIST stays pending after each callback.
  void wait() { ::event_add(event_.get(), nullptr); }
  /// Makes the event pending with DELAY as its timeout.
  void wait(std::chrono::milliseconds delay) {
    const timeval time = to_timeval(delay);
    ::event_add(event_.get(), &time);
  }
  /// Runs the callback in the next iteration of the loop, as if the timeout had expired.
  void fire() { ::event_active(event_.get(), EV_TIMEOUT, 0); }
  void stop_waiting() { ::event_del(event_.get()); }
  bool is_timed() const { return ::event_pending(event_.get(), EV_TIMEOUT, nullptr) != 0; }

 private:
  static void run(evutil_socket_t, short, void* action) { (*static_cast<Action*>(action))(); }

  std::unique_ptr<Action> action_;  // on the heap: its address must not change in a move
  EventPtr event_;                  // declared after action_, so it is destroyed first
};

}  // namespace quarry::base
