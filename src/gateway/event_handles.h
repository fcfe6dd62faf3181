// libevent's objects as owned handles.
#pragma once

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>

#include <chrono>
#include <memory>

namespace quarry::gateway {

template <auto kFree>
struct FreeWith {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};

using EventBase = std::unique_ptr<event_base, FreeWith<event_base_free>>;
using Event = std::unique_ptr<event, FreeWith<event_free>>;
using Buffer = std::unique_ptr<evbuffer, FreeWith<evbuffer_free>>;
using HttpServer = std::unique_ptr<evhttp, FreeWith<evhttp_free>>;

inline timeval to_timeval(std::chrono::milliseconds time) {
  return {.tv_sec = time.count() / 1000, .tv_usec = time.count() % 1000 * 1000};
}

}  // namespace quarry::gateway
