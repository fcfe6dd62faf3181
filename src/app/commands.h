// The commands of `quarry`, a file each.
//
// Exit codes: 0 done; 1 the operation failed, one line on standard error says why; 2 wrong usage.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "quarry/base/result.h"

namespace quarry::app {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kWrongUsage = 2;

/// Says on standard error why a command failed, and returns kFailed.
int failed(const base::Error& error);

/// What the command line asks for; its result is the exit code.
using Run = std::function<int()>;

// Each adds its command to APP, which sets RUN when it is named.
void add_clone(CLI::App& app, Run& run);
/// Both `http` and `test-http`.
void add_http(CLI::App& app, Run& run);
void add_init(CLI::App& app, Run& run);
void add_sync(CLI::App& app, Run& run);
void add_verify(CLI::App& app, Run& run);
void add_rebuild(CLI::App& app, Run& run);
void add_status(CLI::App& app, Run& run);
void add_top(CLI::App& app, Run& run);

}  // namespace quarry::app
