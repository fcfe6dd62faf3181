// The master process starts the children of each service, replaces them when they die, and stops
// them. It does not know what they do: each service provides a function or names a program.
//
// Signals: SIGTERM and SIGINT stop immediately. SIGQUIT stops gracefully: first the fronts finish
// their requests, then the pools, and so on in the order of ServiceKind, all within
// process_control_timeout. SIGUSR2 and SIGHUP reload: the program is executed again in the same
// process, takes over the listening sockets and starts new children, while the old ones finish
// their requests. Children never outlive the master, however it ends.
#pragma once

#include <memory>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/master/config.h"
#include "quarry/master/master_options.h"
#include "quarry/master/service.h"

namespace quarry::master {

class Loop;

class Master {
 public:
  Master(GlobalConfig global, std::vector<Service> services, Reload reload = {},
         Control control = {});
  ~Master();
  Master(const Master&) = delete;
  Master& operator=(const Master&) = delete;

  /// Starts all services and returns when all of them have ended. Fails if it cannot start.
  base::Result<void> run();

 private:
  std::unique_ptr<Loop> loop_;
};

}  // namespace quarry::master
