// libevent's objects with an owner.
#pragma once

#include <event2/event.h>

#include <memory>

namespace quarry::master {

struct EventDeleter {
  void operator()(event* e) const { ::event_free(e); }
  void operator()(event_base* base) const { ::event_base_free(base); }
};
using EventPtr = std::unique_ptr<event, EventDeleter>;
using EventBasePtr = std::unique_ptr<event_base, EventDeleter>;

}  // namespace quarry::master
