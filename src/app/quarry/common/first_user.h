// The administrator of a repository that is made or cloned.
#pragma once

#include <string>

namespace quarry::app {

/// Who runs this program.
std::string login_of_caller();
/// Ten letters and digits, without those that look alike. Empty: no random numbers are to be had.
std::string random_password();

}  // namespace quarry::app
