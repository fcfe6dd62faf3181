// The courier: keeps each event once on the disk, and delivers it to every destination that it is
// for. What the program quarry-courier does once it has read its configuration.
//
//   HandOver (a backoffice, say) ── socket ──> Stream "events" ──> a thread a destination
//
// The calling thread waits for signals: SIGTERM and SIGINT end the courier, SIGUSR1 opens logs and
// files anew. They are to be blocked, and SIGPIPE ignored, before any thread is started.
#pragma once

#include <chrono>
#include <functional>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"
#include "quarry/courier/courier_config.h"

namespace quarry::courier {

/// How long what is being delivered when the courier is to end may take.
inline constexpr std::chrono::milliseconds kEndingTime{5000};

/// Blocks the signals that run() waits for, and puts them at rest where they were ignored.
void hold_signals();
/// Serves LISTENER, a Unix socket that does not block, until it is told to end. REOPEN opens the log
/// anew. Errors: kBusy (another courier has the folder), and what the disk says.
base::Result<void> run(const CourierConfig& config, base::Fd listener,
                       const std::function<void()>& reopen);

}  // namespace quarry::courier
