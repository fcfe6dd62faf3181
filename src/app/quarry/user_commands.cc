#include "user_commands.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "common/interruption.h"
#include "common/json.h"
#include "common/owner.h"
#include "common/table.h"
#include "quarry/base/escape.h"
#include "quarry/base/time.h"
#include "quarry/repository/users.h"
#include "remote/password.h"

namespace quarry::app {
namespace {

using nlohmann::json;
using repository::Repository;
using repository::UserEntry;

Result<std::unique_ptr<Repository>> open_as_owner(const std::string& file,
                                                  bool is_read_only = false) {
  QUARRY_TRY(act_as_owner_of(file));
  return Repository::open(file, {.is_read_only = is_read_only});
}

/// Asks twice on a terminal. Otherwise, reads the first line of standard input.
Result<std::string> new_password(const std::string& login) {
  if (::isatty(STDIN_FILENO) == 0) return password_from_file("-");
  const Interruption interruption;
  const std::string shown = base::printable(login);
  QUARRY_TRY_ASSIGN(std::string password,
                    ask_for_password(fmt::format("New password for {}: ", shown)));
  QUARRY_TRY_ASSIGN(const std::string again, ask_for_password("Retype new password: "));
  if (password == again) return password;
  return fail(ErrorCode::kInvalid, "the passwords do not match");
}

json json_of(const UserEntry& user) {
  return {{"login", user.login},
          {"capabilities", user.capabilities},
          {"contact", user.contact},
          {"modified",
           user.modified == 0 ? json() : json(base::iso_seconds({user.modified * 1000}) + "Z")}};
}

Result<UserEntry> find_user(Repository& repository, const std::string& login) {
  QUARRY_TRY_ASSIGN(auto users, repository::list_users(repository));
  const auto found = std::ranges::find(users, login, &UserEntry::login);
  if (found != users.end()) return std::move(*found);
  return fail(ErrorCode::kNotFound, "user {} does not exist", base::printable(login));
}

void print(const UserArguments& arguments, const UserEntry& user, const std::string& text) {
  arguments.as_json ? print_json(json_of(user)) : fmt::print("{}\n", text);
}

}  // namespace

Result<void> run_user_list(const UserArguments& arguments) {
  QUARRY_TRY_ASSIGN(const auto repository, open_as_owner(arguments.file, true));
  QUARRY_TRY_ASSIGN(const auto users, repository::list_users(*repository));
  if (arguments.as_json) {
    json all = json::array();
    for (const UserEntry& user : users) all.push_back(json_of(user));
    print_json(all);
    return {};
  }
  Table table({"LOGIN", "CAPABILITIES", "CONTACT"});
  for (const UserEntry& user : users) table.add({user.login, user.capabilities, user.contact});
  for (const std::string& line : table.lines()) fmt::print("{}\n", line);
  return {};
}

Result<void> run_user_add(const UserArguments& arguments) {
  QUARRY_TRY_ASSIGN(const std::string password, new_password(arguments.login));
  QUARRY_TRY_ASSIGN(const auto repository, open_as_owner(arguments.file));
  QUARRY_TRY(repository::add_user(*repository,
                                  {.login = arguments.login,
                                   .capabilities = arguments.capabilities.value_or(""),
                                   .contact = arguments.contact},
                                  password));
  QUARRY_TRY_ASSIGN(const UserEntry user, find_user(*repository, arguments.login));
  print(arguments, user,
        fmt::format("{}: added user {} with capabilities {}", arguments.file,
                    base::printable(user.login), base::printable(user.capabilities)));
  return {};
}

Result<void> run_user_capabilities(const UserArguments& arguments) {
  QUARRY_TRY_ASSIGN(const auto repository, open_as_owner(arguments.file, !arguments.capabilities));
  if (arguments.capabilities) {
    QUARRY_TRY(repository::set_capabilities(*repository, arguments.login, *arguments.capabilities));
  }
  QUARRY_TRY_ASSIGN(const UserEntry user, find_user(*repository, arguments.login));
  print(arguments, user, base::printable(user.capabilities));
  return {};
}

Result<void> run_user_password(const UserArguments& arguments) {
  QUARRY_TRY_ASSIGN(const std::string password, new_password(arguments.login));
  QUARRY_TRY_ASSIGN(const auto repository, open_as_owner(arguments.file));
  QUARRY_TRY(repository::set_password(*repository, arguments.login, password));
  QUARRY_TRY_ASSIGN(const UserEntry user, find_user(*repository, arguments.login));
  print(arguments, user,
        fmt::format("{}: changed the password of user {}", arguments.file,
                    base::printable(user.login)));
  return {};
}

Result<void> run_user_remove(const UserArguments& arguments) {
  QUARRY_TRY_ASSIGN(const auto repository, open_as_owner(arguments.file));
  QUARRY_TRY_ASSIGN(const UserEntry user, find_user(*repository, arguments.login));
  QUARRY_TRY_ASSIGN(const std::int64_t waiting,
                    repository::remove_user(*repository, arguments.login));
  print(arguments, user,
        fmt::format("{}: removed user {}", arguments.file, base::printable(user.login)));
  if (waiting > 0) {
    fmt::print(stderr,
               "quarry: warning: {} artifact{} of {} still wait{} for a moderator; approve or "
               "reject them on the page /modreq\n",
               waiting, waiting == 1 ? "" : "s", base::printable(user.login),
               waiting == 1 ? "s" : "");
  }
  return {};
}

void add_user_commands(CLI::App& user, Run& run) {
  user.require_subcommand(1);
  const auto add = [&](const char* name, const char* description,
                       Result<void> (*action)(const UserArguments&)) {
    CLI::App* command = user.add_subcommand(name, description);
    auto& arguments = arguments_of(*command, run, action);
    command->add_option("REPO", arguments.file, "Repository file")->required();
    command->add_flag("--json", arguments.as_json, "Print JSON");
    if (action != run_user_list) {
      command->add_option("LOGIN", arguments.login, "Login of the user")->required();
    }
    return std::pair<CLI::App*, UserArguments&>(command, arguments);
  };
  add("list", "List all users", run_user_list);
  {
    auto [command, arguments] = add(
        "add", "Add a user; asks for the password, or reads it from standard input", run_user_add);
    command->add_option("--capabilities", arguments.capabilities,
                        "Capability letters (default: the setting default-perms, or u)");
    command->add_option("--contact", arguments.contact, "Contact information");
  }
  {
    auto [command, arguments] =
        add("capabilities", "Show or set the capabilities of a user", run_user_capabilities);
    command->add_option("LETTERS", arguments.capabilities,
                        "New capability letters, which replace all others");
  }
  add("password",
      "Change the password of a user; asks for the password, or reads it from standard input",
      run_user_password);
  add("remove", "Remove a user", run_user_remove);
}

}  // namespace quarry::app
