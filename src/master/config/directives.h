// Sets and shows the directives of a section of the configuration. A SECTION is a GlobalConfig,
// HttpConfig, PoolConfig or CarriedSection.
#pragma once

#include <string>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/master/config.h"

namespace quarry::master {

/// Sets the directive KEY of SECTION to VALUE. Errors: kInvalid (unknown directive or invalid
/// value).
template <typename Section>
Result<void> set_directive(Section& section, std::string_view key, const std::string& value);

/// Returns whether the section SECTION may have several lines with the directive KEY.
bool may_repeat(std::string_view section, std::string_view key);

template <typename Section>
bool is_relative(const Section& section, std::string_view key, std::string_view value);

}  // namespace quarry::master
