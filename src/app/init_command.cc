// quarry init: makes a repository.
#include <fmt/core.h>

#include <memory>
#include <string>

#include "commands.h"
#include "first_user.h"
#include "quarry/repository/repository.h"

namespace quarry::app {
namespace {

struct InitArguments {
  std::string file;
  std::string project_name;
  std::string user;
  std::string password;
};

int run_init(InitArguments arguments) {
  const bool is_random = arguments.password.empty();
  if (is_random) arguments.password = random_password();
  if (arguments.password.empty()) return failed({.message = "no random numbers to be had"});
  if (arguments.user.empty()) arguments.user = login_of_caller();
  const auto made = repository::init(arguments.file, {.project_name = arguments.project_name,
                                                      .user = arguments.user,
                                                      .password = arguments.password});
  if (!made) return failed(made.error());
  const auto opened = repository::Repository::open(arguments.file);
  if (!opened) return failed(opened.error());
  fmt::print("project-id: {}\nserver-id:  {}\n", (*opened)->project_code(),
             (*opened)->server_code());
  if (is_random) {
    fmt::print("admin-user: {} (password is \"{}\")\n", arguments.user, arguments.password);
  } else {
    fmt::print("admin-user: {}\n", arguments.user);
  }
  return kDone;
}

}  // namespace

void add_init(CLI::App& app, Run& run) {
  auto init = std::make_shared<InitArguments>();
  CLI::App* command = app.add_subcommand("init", "make a new repository");
  command->add_option("FILE", init->file, "the repository file to make")->required();
  command->add_option("--project-name", init->project_name, "name of the project");
  command->add_option("--user", init->user, "login of the first user (default: your own)");
  command->add_option("--password", init->password,
                      "password of that user (default: a random one, printed)");
  command->callback([init, &run] { run = [init] { return run_init(*init); }; });
}

}  // namespace quarry::app
