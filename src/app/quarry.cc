// quarry: everything that a person does to a repository, or asks a server, from a command line.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "commands.h"
#include "password.h"

namespace app = quarry::app;

int app::failed(const base::Error& error) {
  fmt::print(stderr, "quarry: {}\n", error.message);
  return kFailed;
}

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  app::hide_passwords(argc, argv);
  CLI::App cli{
      "quarry: make, clone, sync and check Fossil repositories, and look at the server of them",
      "quarry"};
  cli.set_version_flag("--version", std::string("quarry ") + QUARRY_VERSION);
  cli.require_subcommand(1);
  app::Run run;
  app::add_init(cli, run);
  app::add_clone(cli, run);
  app::add_sync(cli, run);
  app::add_http(cli, run);
  app::add_verify(cli, run);
  app::add_rebuild(cli, run);
  app::add_status(cli, run);
  app::add_top(cli, run);
  try {
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    cli.parse(argc, arguments.data());
  } catch (const CLI::ParseError& error) {
    return cli.exit(error) == 0 ? app::kDone : app::kWrongUsage;
  }
  try {
    return run();
  } catch (const std::exception& error) {
    return app::failed({.message = error.what()});
  }
}
