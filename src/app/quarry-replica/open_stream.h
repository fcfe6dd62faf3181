// Opens the stream of quarry-replica. Tests link the program with a stream that has a fault instead.
#pragma once

#include <memory>

#include "quarry/base/result.h"
#include "quarry/replica/stream.h"

namespace quarry::app {

Result<std::unique_ptr<replica::Stream>> open_stream(const replica::StreamOptions& options);

}  // namespace quarry::app
