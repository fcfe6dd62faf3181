// The `quarry user` commands, which list and change the users of a repository.
#pragma once

#include <optional>
#include <string>

#include "common/command_line.h"
#include "quarry/base/result.h"

namespace quarry::app {

struct UserArguments {
  std::string file;
  std::string login;
  std::optional<std::string> capabilities;
  std::string contact;
  bool as_json = false;
};
Result<void> run_user_list(const UserArguments& arguments);
Result<void> run_user_add(const UserArguments& arguments);
/// Sets the capabilities if ARGUMENTS contains them, and prints them.
Result<void> run_user_capabilities(const UserArguments& arguments);
Result<void> run_user_password(const UserArguments& arguments);
Result<void> run_user_remove(const UserArguments& arguments);

void add_user_commands(CLI::App& user, Run& run);

}  // namespace quarry::app
