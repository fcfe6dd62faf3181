// The words that pools and the HTTP front share: what a child process is given.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/master/process_settings.h"

namespace quarry::master {

bool is_process_directive(std::string_view key);
/// Sets KEY, which is one, to VALUE. Error: the value is wrong.
base::Result<void> set_process_directive(ProcessSettings& settings, std::string_view key,
                                         const std::string& value);
std::vector<std::string_view> process_directive_names();

/// process.priority and rlimit_core, which [global] has too.
base::Result<int> parse_priority(std::string_view text);
base::Result<std::uint64_t> parse_core_limit(std::string_view text);

}  // namespace quarry::master
