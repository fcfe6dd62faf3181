#include "command_line.h"

#include <CLI/CLI.hpp>

#include "usage.h"

namespace quarry::app {

std::expected<CommandLine, int> parse_command_line(int argc, char** argv) {
  CommandLine line;
  line.words.assign(argv, argv + argc);
  CLI::App cli("Serves Fossil repositories: FastCGI to a web server, or HTTP by itself.",
               "quarryd");
  cli.set_version_flag("--version", "quarryd " QUARRY_VERSION);
  auto* config = cli.add_option("-c,--config", line.config, "The configuration file");
  auto* serve = cli.add_option("--serve", line.serve,
                               "Serve this .fossil file, or this folder of them, without a file");
  cli.add_option("--http", line.http, "Where --serve listens")->capture_default_str()->needs(serve);
  cli.add_option("--children", line.children, "How many workers --serve starts")
      ->check(CLI::Range(1, 10000))
      ->needs(serve);
  cli.add_flag("--changes", line.has_changes,
               "With --serve: take change sets, and land them on branches in order")
      ->needs(serve);
  cli.add_flag("--no-pages", line.has_no_pages,
               "With --serve: no web pages, though fossil, which makes them, is installed")
      ->needs(serve);
  cli.add_flag("-t,--test", line.test, "Check the configuration and end; -tt also prints it whole");
  auto* background =
      cli.add_flag("-D,--daemonize", line.daemonize, "Go to the background when ready");
  cli.add_flag("-F,--nodaemonize", line.in_foreground,
               "Stay in the foreground, whatever the configuration says")
      ->needs(config)
      ->excludes(background->needs(config));
  cli.add_option("-p,--prefix", line.prefix,
                 "The folder that relative paths in the configuration are relative to")
      ->check(CLI::ExistingDirectory)
      ->needs(config);
  serve->excludes(config);
  try {
    cli.parse(argc, argv);
    if (line.config.empty() == line.serve.empty()) {
      throw CLI::ValidationError("one of --config FILE and --serve PATH is needed");
    }
    if (line.test > 1 && line.config.empty()) {
      throw CLI::ValidationError("-tt shows a configuration: it needs --config FILE");
    }
  } catch (const CLI::ParseError& error) {
    return std::unexpected(end_of_parse(cli, error));
  }
  return line;
}

}  // namespace quarry::app
