// The directives of each section of the configuration: sets and shows their values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "process_directives.h"
#include "quarry/base/result.h"
#include "quarry/master/config.h"

namespace quarry::master {

/// Sets the directive KEY of a section to VALUE. Errors: kInvalid (unknown directive or invalid
/// value).
base::Result<void> set_directive(GlobalConfig& section, std::string_view key,
                                 const std::string& value);
base::Result<void> set_directive(HttpConfig& section, std::string_view key,
                                 const std::string& value);
base::Result<void> set_directive(PoolConfig& section, std::string_view key,
                                 const std::string& value);
base::Result<void> set_directive(CarriedSection& section, std::string_view key,
                                 const std::string& value);

/// Whether VALUE of the directive KEY is a relative file path.
bool is_relative(const GlobalConfig&, std::string_view key, std::string_view value);
bool is_relative(const HttpConfig& section, std::string_view key, std::string_view value);
bool is_relative(const PoolConfig& section, std::string_view key, std::string_view value);
bool is_relative(const CarriedSection& section, std::string_view key, std::string_view value);

/// All directives of a section with their values, including defaults.
std::vector<ShownDirective> shown_directives(const GlobalConfig& section);
std::vector<ShownDirective> shown_directives(const HttpConfig& section);
std::vector<ShownDirective> shown_directives(const PoolConfig& section);
std::vector<ShownDirective> shown_directives(const CarriedSection& section);

}  // namespace quarry::master
