// The words that each section of the configuration knows, and what each sets.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/master/config.h"

namespace quarry::master {

/// Sets the directive KEY of a section to VALUE. Error: the directive is unknown, or the value
/// wrong.
base::Result<void> set_directive(GlobalConfig& section, std::string_view key,
                                 const std::string& value);
base::Result<void> set_directive(HttpConfig& section, std::string_view key,
                                 const std::string& value);
base::Result<void> set_directive(PoolConfig& section, std::string_view key,
                                 const std::string& value);

/// The names of all directives, each as often as sections know it: for the proof that they are all
/// documented.
std::vector<std::string_view> directive_names();

}  // namespace quarry::master
