// The words that pools and the HTTP front share: what a child process is given.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/master/directive_table.h"
#include "quarry/master/process_settings.h"

namespace quarry::master {

bool is_process_directive(std::string_view key);
/// Sets KEY, which is one, to VALUE. Error: the value is wrong.
base::Result<void> set_process_directive(ProcessSettings& settings, std::string_view key,
                                         const std::string& value);
/// Whether VALUE of KEY is the path of a file that does not begin with a slash.
bool is_relative_for_process(std::string_view key, std::string_view value);
std::vector<ShownDirective> shown_process_directives(const ProcessSettings& settings);

}  // namespace quarry::master
