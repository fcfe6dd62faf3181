// The `quarry courier` commands.
#pragma once

#include <cstdint>
#include <string>

#include "quarry/base/result.h"
#include "status/server_control.h"

namespace quarry::app {

struct CourierArguments {
  std::string config = kDefaultConfig;
  std::string destination;
  std::uint64_t id = 0;  // of an event
  double timeout = 30;   // seconds
  bool as_json = false;
};
Result<void> run_courier_status(const CourierArguments& arguments);
Result<void> run_courier_test(const CourierArguments& arguments);
Result<void> run_courier_replay(const CourierArguments& arguments);
Result<void> run_courier_deliveries(const CourierArguments& arguments);
Result<void> run_courier_redeliver(const CourierArguments& arguments);
Result<void> run_courier_forget(const CourierArguments& arguments);

}  // namespace quarry::app
