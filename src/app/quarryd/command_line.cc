#include "command_line.h"

#include <CLI/CLI.hpp>

#include "usage.h"

namespace quarry::app {

std::expected<CommandLine, int> parse_command_line(int argc, char** argv) {
  CommandLine line;
  line.words.assign(argv, argv + argc);
  CLI::App cli("Serve Fossil repositories, over FastCGI behind a web server or over HTTP",
               "quarryd");
  cli.set_version_flag("--version", "quarryd " QUARRY_VERSION);
  auto* config = cli.add_option("-c,--config", line.config, "Configuration file");
  auto* serve = cli.add_option(
      "--serve", line.serve,
      "Repository, or folder of repositories, to serve without a configuration file");
  cli.add_option("--http", line.http,
                 "With --serve: address and port for HTTP (default: 127.0.0.1:8080, or none with "
                 "--https)")
      ->needs(serve);
  auto* https = cli.add_option("--https", line.https,
                               "With --serve: address and port for HTTPS, with --certificate and "
                               "--key")
                    ->needs(serve);
  https
      ->needs(cli.add_option("--certificate", line.certificate,
                             "File with the certificate for --https and its issuers (PEM)")
                  ->needs(https))
      ->needs(cli.add_option("--key", line.key, "File with the private key for --https (PEM)")
                  ->needs(https));
  cli.add_option("--user", line.user,
                 "With --serve as root: user to run as (default: owner of the path, if not root)")
      ->needs(serve);
  cli.add_option("--children", line.children,
                 "With --serve: number of workers (default: two per processor, at least four)")
      ->check(CLI::Range(1, 10000))
      ->needs(serve);
  cli.add_flag("--changes", line.has_changes, "With --serve: also accept change sets")
      ->needs(serve);
  cli.add_flag("--no-pages", line.has_no_pages,
               "With --serve: do not serve web pages, even if fossil is installed")
      ->needs(serve);
  cli.add_flag("-t,--test", line.test, "Check the configuration and exit; -tt also prints it");
  auto* background =
      cli.add_flag("-D,--daemonize", line.daemonize, "Go to the background after startup");
  cli.add_flag("-F,--nodaemonize", line.in_foreground,
               "Stay in the foreground, even if the configuration sets daemonize")
      ->needs(config)
      ->excludes(background->needs(config));
  cli.add_option("-p,--prefix", line.prefix, "Base folder of relative paths in the configuration")
      ->check(CLI::ExistingDirectory)
      ->needs(config);
  serve->excludes(config);
  try {
    cli.parse(argc, argv);
    if (line.config.empty() == line.serve.empty()) {
      throw CLI::ValidationError("either --config FILE or --serve PATH is required");
    }
    if (line.test > 1 && line.config.empty()) {
      throw CLI::ValidationError("-tt requires --config FILE");
    }
  } catch (const CLI::ParseError& error) {
    return std::unexpected(end_of_parse(cli, error));
  }
  return line;
}

}  // namespace quarry::app
