#include "open_stream.h"

namespace quarry::app {

Result<std::unique_ptr<replica::Stream>> open_stream(const replica::StreamOptions& options) {
  return replica::Stream::open(options);
}

}  // namespace quarry::app
