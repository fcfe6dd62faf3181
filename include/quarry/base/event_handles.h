// libevent's objects as owned handles, for who links libevent.
#pragma once

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>

#include <chrono>
#include <memory>

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
using EventBufferPtr = std::unique_ptr<evbuffer, FreeWith<evbuffer_free>>;
using HttpServerPtr = std::unique_ptr<evhttp, FreeWith<evhttp_free>>;

inline timeval to_timeval(std::chrono::milliseconds time) {
  return {.tv_sec = time.count() / 1000, .tv_usec = time.count() % 1000 * 1000};
}

}  // namespace quarry::base
