// quarry init: creates a repository.
#include <fmt/core.h>

#include <string>

#include "commands.h"
#include "common/exit_codes.h"
#include "quarry/repository/repository.h"
#include "quarry/repository/whole_file.h"
#include "remote/password.h"

namespace quarry::app {

int run_init(const InitArguments& asked) {
  InitArguments arguments = asked;
  const bool is_random = arguments.password.empty();
  if (is_random) arguments.password = random_password();
  if (arguments.user.empty()) arguments.user = login_of_caller();
  const auto made = repository::init(arguments.file, {.project_name = arguments.project_name,
                                                      .user = arguments.user,
                                                      .password = arguments.password});
  if (!made) return failed(made.error());
  const auto opened = repository::Repository::open(arguments.file);
  if (!opened) return failed(opened.error());
  fmt::print("project-id: {}\nserver-id:  {}\n", (*opened)->settings().project_code(),
             (*opened)->settings().server_code());
  if (is_random) {
    fmt::print("admin-user: {} (password is \"{}\")\n", arguments.user, arguments.password);
  } else {
    fmt::print("admin-user: {}\n", arguments.user);
  }
  return kDone;
}

}  // namespace quarry::app
