// The `quarry courier` commands.
#pragma once

#include <string>

#include "quarry/base/result.h"
#include "status/server_control.h"

namespace quarry::app {

struct CourierArguments {
  std::string config = kDefaultConfig;
  std::string destination;
  double timeout = 30;  // seconds
  bool as_json = false;
};
Result<void> run_courier_status(const CourierArguments& arguments);
Result<void> run_courier_test(const CourierArguments& arguments);
Result<void> run_courier_replay(const CourierArguments& arguments);
Result<void> run_courier_forget(const CourierArguments& arguments);

}  // namespace quarry::app
