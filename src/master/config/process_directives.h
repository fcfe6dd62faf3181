// Directives for child processes, which pools and the HTTP front share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/master/directive_table.h"
#include "quarry/master/process_settings.h"

namespace quarry::master {

bool is_process_directive(std::string_view key);
/// Sets KEY, which must be one of them, to VALUE. Errors: kInvalid.
base::Result<void> set_process_directive(ProcessSettings& settings, std::string_view key,
                                         const std::string& value);
/// Whether VALUE of KEY is a relative file path.
bool is_relative_for_process(std::string_view key, std::string_view value);
std::vector<ShownDirective> shown_process_directives(const ProcessSettings& settings);

}  // namespace quarry::master
