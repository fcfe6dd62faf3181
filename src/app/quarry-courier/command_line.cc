#include "command_line.h"

#include <CLI/CLI.hpp>

#include "usage.h"

namespace quarry::app {

std::expected<CourierCommandLine, int> parse_courier_command_line(int argc, char** argv) {
  CourierCommandLine line;
  CLI::App cli("Deliver events to webhooks, mail, programs, logs and files", "quarry-courier");
  cli.set_version_flag("--version", "quarry-courier " QUARRY_VERSION);
  auto* config = cli.add_option("-c,--config", line.config, "Configuration file of quarryd");
  auto* hooks = cli.add_option("--hooks", line.folder)->group("")->excludes(config);
  for (auto* option :
       {cli.add_option("--socket", line.socket), cli.add_option("--fossil", line.fossil),
        cli.add_option("--timeout", line.timeout),
        cli.add_option("--max-disk-space", line.max_disk_space),
        cli.add_flag("--webhooks", line.webhooks),
        cli.add_option("--webhooks-allow", line.webhooks_allow)->delimiter(',')}) {
    option->group("")->needs(hooks);
  }
  auto* logs = cli.add_option("--logs", line.destination)->group("")->needs(config);
  for (auto* option :
       {cli.add_option("--log", line.logs), cli.add_option("--figures", line.figures)}) {
    option->group("")->needs(logs);
  }
  try {
    cli.parse(argc, argv);
    if (line.config.empty() && line.folder.empty()) throw CLI::RequiredError("--config");
  } catch (const CLI::ParseError& error) {
    return std::unexpected(end_of_parse(cli, error));
  }
  return line;
}

}  // namespace quarry::app
