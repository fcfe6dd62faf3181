// What the access log is told of each request: gathered while the request is answered.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <string_view>

#include "fastcgi/request.h"
#include "quarry/base/access_log.h"
#include "quarry/scoreboard/scoreboard.h"

namespace quarry::worker {

class AccessRecorder {
 public:
  /// LOG may be null: then nothing is gathered or written. Both must outlive it.
  AccessRecorder(base::AccessLog* log, std::string_view pool);
  /// A request begins.
  void begin();
  /// It was answered: writes the line. STATE is the slot's after the request.
  void end(const Request& request, const Reply& reply, const scoreboard::SlotState& state);

 private:
  void add_usage(base::AccessRecord& record) const;

  base::AccessLog* log_;
  std::string_view pool_;
  pid_t parent_;
  rusage before_{};
};

}  // namespace quarry::worker
