// The FIFOs by which the daemons of a queue are told that there is work. A pull never waits, and is
// no error where nobody listens: a scan on a timer finds what a trigger missed.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"

namespace quarry::changes {

enum class Trigger : std::uint8_t { kPrequeue, kQueue, kExecution };
inline constexpr std::size_t kTriggers = 3;
/// "prequeue_fifo" and so on.
std::string_view file_of(Trigger trigger);

/// Makes the FIFO in CTRL, the queue's folder of that name, with mode 0600, unless it is there.
base::Result<void> make_trigger(const std::filesystem::path& ctrl, Trigger trigger);
/// Tells whoever listens.
void pull(const std::filesystem::path& ctrl, Trigger trigger);
/// To poll(2) for reading; it never ends.
base::Result<base::Fd> listen(const std::filesystem::path& ctrl, Trigger trigger);
/// Reads all that is in FD, of listen().
void drain(const base::Fd& fd);

}  // namespace quarry::changes
