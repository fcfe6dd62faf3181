// The administrator of a new or cloned repository.
#pragma once

#include <string>

namespace quarry::app {

/// The login of the calling user.
std::string login_of_caller();
/// Ten letters and digits, without characters that look alike. Empty if there are no random
/// numbers.
std::string random_password();

}  // namespace quarry::app
