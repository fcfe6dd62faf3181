// quarry: everything that a person does to a repository, or asks a server, from a command line.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>

#include "commands.h"

namespace app = quarry::app;

int app::failed(const base::Error& error) {
  fmt::print(stderr, "quarry: {}\n", error.message);
  return kFailed;
}

int main(int argc, char** argv) {
  CLI::App cli{"quarry: make and check Fossil repositories, and look at the server of them",
               "quarry"};
  cli.set_version_flag("--version", std::string("quarry ") + QUARRY_VERSION);
  cli.require_subcommand(1);
  app::Run run;
  app::add_init(cli, run);
  app::add_verify(cli, run);
  app::add_rebuild(cli, run);
  app::add_status(cli, run);
  app::add_top(cli, run);
  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return cli.exit(error) == 0 ? app::kDone : app::kWrongUsage;
  }
  try {
    return run();
  } catch (const std::exception& error) {
    return app::failed({.message = error.what()});
  }
}
