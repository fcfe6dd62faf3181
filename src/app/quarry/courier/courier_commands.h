// The `quarry courier` commands. Each returns an exit code.
#pragma once

#include <string>

#include "status/server_control.h"

namespace quarry::app {

struct CourierArguments {
  std::string config = kDefaultConfig;
  std::string destination;
  double timeout = 30;  // seconds
  bool as_json = false;
};
int run_courier_status(const CourierArguments& arguments);
int run_courier_test(const CourierArguments& arguments);
int run_courier_forget(const CourierArguments& arguments);

}  // namespace quarry::app
