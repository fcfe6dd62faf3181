#include "quarry/master/master.h"

#include "loop.h"

namespace quarry::master {

Master::Master(GlobalConfig global, std::vector<Service> services, Reload reload, Control control)
    : loop_(std::make_unique<Loop>(std::move(global), std::move(services), std::move(reload),
                                   std::move(control))) {}

Master::~Master() = default;

base::Result<void> Master::run() {
  return loop_->run();
}

}  // namespace quarry::master
