// The courier's spool, as the configuration names it.
#pragma once

#include <string>

#include "courier_commands.h"
#include "quarry/base/result.h"
#include "quarry/courier/options.h"
#include "quarry/spool/spool.h"

namespace quarry::app {

/// Error: kInvalid if the configuration is invalid or has no courier.
base::Result<courier::CourierConfig> courier_config_of(const CourierArguments& arguments);

inline spool::SpoolLocation spool_of(const courier::CourierConfig& config) {
  return {config.options.spool_directory, courier::kStreamName};
}

}  // namespace quarry::app
