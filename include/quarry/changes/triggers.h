// FIFOs that wake the daemons of a queue. Pulling a trigger never blocks. If no daemon is
// listening, the trigger is lost. This is not an error, because the daemons also scan on a timer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"

namespace quarry::changes {

enum class Trigger : std::uint8_t { kPrequeue, kQueue, kExecution };
inline constexpr std::size_t kTriggers = 3;
/// Returns the name of the FIFO of TRIGGER: "prequeue_fifo" and so on.
std::string_view file_of(Trigger trigger);

/// Creates the FIFO in CTRL (the ctrl/ folder of a queue) with mode 0600, unless it exists.
Result<void> make_trigger(const std::filesystem::path& ctrl, Trigger trigger);
/// Wakes the daemon that is listening, if there is one.
void pull(const std::filesystem::path& ctrl, Trigger trigger);
/// Opens the FIFO. The returned descriptor is for poll(2) and never reports the end of the file.
Result<base::Fd> listen(const std::filesystem::path& ctrl, Trigger trigger);
/// Discards all pending input of FD, which listen() returned.
void drain(const base::Fd& fd);

}  // namespace quarry::changes
