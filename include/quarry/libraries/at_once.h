// For who begins what he has to end: libraries that `quarry` would load when it first calls them, now.
#pragma once

namespace quarry::libraries {

/// Loads what artifacts are compressed, read and hashed with. Where one cannot be loaded, the process
/// ends with 127, and has left nothing half done.
void load_at_once();

}  // namespace quarry::libraries
