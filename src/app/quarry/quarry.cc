// quarry: the command line for repositories and for the server. This file defines most of the
// options; other files implement the commands.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "changes/changes_command_line.h"
#include "commands.h"
#include "common/command_line.h"
#include "common/exit_codes.h"
#include "courier/courier_commands.h"
#include "peer/peer_command_line.h"
#include "remote/password.h"
#include "remote/remote.h"
#include "replica_commands.h"
#include "spool/spool_command_line.h"
#include "status/status_commands.h"
#include "usage.h"
#include "user_commands.h"
#include "webhook_commands.h"

namespace quarry::app {
namespace {

void add_control_options(CLI::App& command, ServerControl& server) {
  auto* by_socket =
      command.add_option("--socket", server.socket, "Path of the server's control socket");
  command
      .add_option("-c,--config", server.config,
                  "The server's configuration, which names the control socket")
      ->capture_default_str()
      ->excludes(by_socket);
}

void add_remote_options(CLI::App& command, RemoteArguments& arguments) {
  command.add_option("--password-file", arguments.password_file,
                     "File with the password in its first line (-: standard input)");
  command.add_option("--ca-file", arguments.ca_file,
                     "File of CA certificates (PEM) to trust instead of the system's");
  command.add_option("--ssh-command", arguments.ssh_command,
                     "ssh command and its first arguments (default: ssh -e none -T)");
  command.add_flag("--once", arguments.once, "Do not save the URL");
  command.add_flag(
      "--save-password", arguments.save_password,
      "Save the password in the repository; anyone who can read the file can read the password");
  command.add_flag("--private", arguments.with_private, "Include private branches");
  command.add_flag("--uv", arguments.with_unversioned, "Include unversioned files");
  command.add_flag("--quiet", arguments.quiet, "Print only errors");
}

void add_init(CLI::App& command, Run& run) {
  auto& init = arguments_of(command, run, run_init);
  command.add_option("FILE", init.file, "Repository file to create")->required();
  command.add_option("--project-name", init.project_name, "Name of the project");
  command.add_option("--user", init.user, "Login of the first user (default: your own)");
  command.add_option("--password", init.password,
                     "Password of the first user (default: a random one, which is printed)");
  command.add_flag("--json", init.as_json, "Print JSON");
}

void add_clone(CLI::App& command, Run& run) {
  auto& clone = arguments_of(command, run, run_clone);
  command
      .add_option("URL", clone.remote.url, "URL of the repository (http:, https:, ssh: or file:)")
      ->required();
  command.add_option("FILE", clone.file, "Repository file to create")->required();
  command.add_option("--admin-user", clone.admin_user,
                     "Login of the administrator (default: the URL's user, or your own)");
  add_remote_options(command, clone.remote);
}

void add_sync(CLI::App& command, Run& run) {
  auto& sync = arguments_of(command, run, run_sync);
  command.add_option("REPO", sync.file, "Repository file")->required();
  auto* url = command.add_option(
      "URL", sync.remote.url,
      "URL (http:, https:, ssh: or file:) or name of a remote (default: URL of the last sync)");
  command.add_flag("--all", sync.all, "Sync with every remote of the repository")->excludes(url);
  command.add_flag("--push", sync.push, "Only send (default: send and receive)");
  command.add_flag("--pull", sync.pull, "Only receive (default: send and receive)");
  command.add_flag("--verily", sync.verily, "List all artifacts, to find any that were missed");
  add_remote_options(command, sync.remote);
}

template <bool is_trusted>
void add_http(CLI::App& command, Run& run) {
  auto& http = arguments_of(command, run, run_http);
  http.is_trusted = is_trusted;
  command.add_option("REPO", http.path, "Repository file, or folder of repositories")->required();
  http.config = kDefaultConfig;
  command
      .add_option("-c,--config", http.config,
                  "Configuration of the server whose courier gets the events")
      ->capture_default_str();
}

template <int action(const WholeFileArguments&)>
void add_whole_file_command(CLI::App& command, Run& run) {
  auto& arguments = arguments_of(command, run, action);
  command.add_option("FILE", arguments.file, "Repository file")->required();
  command.add_flag("--quiet", arguments.quiet, "Print only errors");
  if (action == run_verify) command.add_flag("--json", arguments.as_json, "Print JSON");
}

template <typename Arguments>
void add_output_options(CLI::App& command, Arguments& arguments) {
  command.add_flag("--json", arguments.as_json, "Print JSON");
  command.add_flag("--quiet", arguments.quiet, "Print only errors");
}

void add_backup(CLI::App& command, Run& run) {
  auto& backup = arguments_of(command, run, run_backup);
  command.add_option("SOURCE", backup.source, "Repository file, or folder of repositories")
      ->required();
  command.add_option("DEST", backup.destination, "File or folder for the backup")->required();
  command.add_flag("--no-verify", backup.is_unverified, "Do not verify the backup");
  command.add_flag("--force", backup.is_forced,
                   "Replace an existing file that is not a backup of the repository");
  add_output_options(command, backup);
}

void add_restore(CLI::App& command, Run& run) {
  auto& restored = arguments_of(command, run, run_restore);
  command.add_option("BACKUP", restored.backup, "Backup of a repository")->required();
  command.add_option("FILE", restored.file, "Repository file to restore")->required();
  command.add_flag("--force", restored.is_forced, "Replace the content of FILE if it exists");
  add_output_options(command, restored);
}

void add_backoffice(CLI::App& command, Run& run) {
  auto& arguments = arguments_of(command, run, run_backoffice);
  command.add_option("FILE", arguments.files, "Repository files")->required();
  command.add_option("--poll", arguments.poll,
                     "Keep running, and check for changes at this interval in seconds");
  command
      .add_option("--min", arguments.min,
                  "With --poll: interval in seconds at which unchanged repositories are processed "
                  "too (0: never)")
      ->capture_default_str();
  command.add_flag("--nodelay", arguments.no_delay,
                   "Run immediately, or exit if another process holds the lease");
  command.add_flag("--nolease", arguments.no_lease, "Run without checking the lease");
  command.add_flag("--compact", arguments.compacts,
                   "Also store old versions as deltas on newer ones");
  command.add_option("--logfile", arguments.log_file,
                     "File to which a line is appended for each run");
  command.add_flag("--trace", arguments.trace, "Print each step on standard error");
  command.add_option("--courier", arguments.courier, "Path of the courier's socket, for events");
  command.add_option("--hooks", arguments.hooks,
                     "Path of the socket on which the repository's pool accepts hooks");
  command.add_flag("--events", arguments.only_events,
                   "Only send events and hooks (does not need the lease)");
  // Only the server uses the following options, so --help does not show them.
  command.add_flag("--automatic", arguments.is_automatic)->group("");
  command.add_flag("--folder", arguments.is_folder)->group("");
  command.add_flag("--only-requests", arguments.only_requests)->group("");
  command.add_option("--number", arguments.number)->group("");
  command.add_option("--mail-methods", arguments.mail_methods)->delimiter(',')->group("");
  command.add_option("--webhooks", arguments.webhooks)->group("");
  command.add_option("--replica", arguments.replica)->group("");
  command.add_option("--pool", arguments.pool)->group("");
  command.add_option("--served-name", arguments.served_name)->group("");
  command.add_option("--lease-time", arguments.lease_time)->group("");
}

void add_lease(CLI::App& command, Run& run) {
  auto& lease = arguments_of(command, run, run_lease);
  command.add_option("FILE", lease.file, "Repository file")->required();
  command.add_flag("--json", lease.as_json, "Print JSON");
}

void add_alerts(CLI::App& alerts, Run& run) {
  alerts.require_subcommand(1);
  CLI::App* sending = alerts.add_subcommand("send", "Send pending email now");
  auto& sent = arguments_of(*sending, run, run_alerts_send);
  sending->add_option("FILE", sent.file, "Repository file")->required();
  sending->add_flag("--digest", sent.digest, "Send the digest instead of alerts");
  sending->add_flag("--renewal", sent.renewal,
                    "Also notify subscribers whose subscriptions expire soon");
  sending->add_flag("--test", sent.is_test, "Print the emails, and do not mark them as sent");
  CLI::App* listing = alerts.add_subcommand("pending", "List pending notifications");
  auto& listed = arguments_of(*listing, run, run_alerts_pending);
  listing->add_option("FILE", listed.file, "Repository file")->required();
}

void add_compact(CLI::App& command, Run& run) {
  auto& compact = arguments_of(command, run, run_compact);
  command.add_option("FILE", compact.file, "Repository file to compact")->required();
  command
      .add_option("--budget", compact.budget,
                  "Time limit in seconds; the next run continues the work (default: 0, no limit)")
      ->check(CLI::Range(0.0, 1e6));
  command.add_flag("--vacuum", compact.vacuum,
                   "Afterwards, rewrite the whole file without free pages");
  command.add_flag("--quiet", compact.quiet, "Print only errors");
}

void add_status(CLI::App& command, Run& run) {
  auto& status = arguments_of(command, run, run_status);
  command.add_option("POOL", status.pools, "Pools to show (default: all)");
  add_control_options(command, status.server);
  command.add_flag("--full", status.is_full, "Also show all workers");
  command.add_flag("--json", status.as_json, "Print JSON");
}

void add_top(CLI::App& command, Run& run) {
  auto& top = arguments_of(command, run, run_top);
  add_control_options(command, top.server);
  command
      .add_option("--interval", top.interval,
                  "Interval between updates in seconds, from 0.1 to 3600")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 3600.0))
      // Reject NaN, which CLI::Range accepts.
      ->check([](const std::string& text) {
        return std::isnan(std::stod(text)) ? "not a number" : "";
      });
  command.add_option("--count", top.count, "Number of updates (default: no limit)")
      ->check(CLI::Range(1, 1000000000));
}

CourierArguments& add_courier_command(CLI::App& courier, Run& run, const char* name,
                                      const char* description,
                                      Result<void> (*action)(const CourierArguments&)) {
  CLI::App* command = courier.add_subcommand(name, description);
  auto& arguments = arguments_of(*command, run, action);
  command->add_option("-c,--config", arguments.config, "The server's configuration")
      ->capture_default_str();
  return arguments;
}

void add_courier(CLI::App& courier, Run& run) {
  courier.require_subcommand(1);
  auto& status = add_courier_command(courier, run, "status", "Show the state of each destination",
                                     run_courier_status);
  courier.get_subcommand("status")->add_flag("--json", status.as_json, "Print JSON");
  auto& test = add_courier_command(courier, run, "test",
                                   "Send an event to one destination, and show the result",
                                   run_courier_test);
  auto& replay =
      add_courier_command(courier, run, "replay",
                          "Put a destination's dead letters back into the queue of the running "
                          "courier",
                          run_courier_replay);
  auto& deliveries =
      add_courier_command(courier, run, "deliveries", "Show the last deliveries of a destination",
                          run_courier_deliveries);
  courier.get_subcommand("deliveries")->add_flag("--json", deliveries.as_json, "Print JSON");
  auto& redeliver = add_courier_command(courier, run, "redeliver",
                                        "Deliver an event from the list of `deliveries` again",
                                        run_courier_redeliver);
  auto& forget = add_courier_command(
      courier, run, "forget",
      "Delete a destination that is no longer in the configuration, with its events",
      run_courier_forget);
  const std::pair<const char*, CourierArguments*> named[] = {{"test", &test},
                                                             {"replay", &replay},
                                                             {"deliveries", &deliveries},
                                                             {"redeliver", &redeliver},
                                                             {"forget", &forget}};
  for (const auto& [name, arguments] : named) {
    courier.get_subcommand(name)
        ->add_option("NAME", arguments->destination, "Name of the destination")
        ->required();
  }
  courier.get_subcommand("redeliver")
      ->add_option("ID", redeliver.id, "Number of the event")
      ->required();
  for (const auto& [name, waiting] : {named[0], named[1], named[3]}) {
    courier.get_subcommand(name)
        ->add_option("--timeout", waiting->timeout, "Maximum time to wait in seconds")
        ->capture_default_str()
        ->check(CLI::Range(0.1, 86400.0));
  }
}

struct Command {
  const char* name;
  const char* description;
  void (*add_words)(CLI::App& command, Run& run);
};

constexpr Command kCommands[] = {
    {"init", "Create a repository", add_init},
    {"clone", "Clone a repository", add_clone},
    {"sync", "Exchange new artifacts with another repository of the project", add_sync},
    {"http", "Answer one HTTP request from standard input, or as a CGI program", add_http<false>},
    {"test-http", "Answer requests with all capabilities; started by clients over ssh",
     add_http<true>},
    {"verify", "Check all artifacts and derived tables without changing anything",
     add_whole_file_command<run_verify>},
    {"rebuild", "Recompute all derived tables from the artifacts, in one transaction",
     add_whole_file_command<run_rebuild>},
    {"compact", "Store old versions as deltas on newer ones, while the repository stays in use",
     add_compact},
    {"backup", "Back up repositories that are in use", add_backup},
    {"restore", "Restore a repository from a backup", add_restore},
    {"backoffice", "Run the background jobs of repositories: events, hooks, email, maintenance",
     add_backoffice},
    {"peer", "Sync with the peers in the configuration, and show their state", add_peer},
    {"replica", "Replication between hosts: state, join, leave", add_replica},
    {"user", "List and change the users of a repository", add_user_commands},
    {"webhook", "List, change and test the webhooks of a repository", add_webhook_commands},
    {"lease", "Show which process holds the lease for the background work", add_lease},
    {"alerts", "Send email alerts to the subscribers of a repository", add_alerts},
    {"status", "Show the status of a running server", add_status},
    {"top", "Show the activity of a running server, live", add_top},
    {"spool", "Write to, read from or inspect a durable queue", add_spool},
    {"courier", "Show and test the delivery of events", add_courier},
    {"submit", "Submit a change set to a server's queue, which lands it on a branch", add_submit},
    {"queue", "Show or change a queue of change sets, local or on a server", add_queue},
};

/// Refuses empty files and names, which no command can use. Only the LETTERS of capabilities can be
/// empty.
void refuse_empty_words(CLI::App& command) {
  const auto check = [](const std::string& word) {
    return word.empty() ? std::string("must not be empty") : std::string();
  };
  for (CLI::Option* each : command.get_options()) {
    const std::string& name = each->get_name();
    if ((each->get_positional() && name != "LETTERS") || name == "--user") each->check(check);
  }
  for (CLI::App* each : command.get_subcommands({})) refuse_empty_words(*each);
}

/// Adds all commands. To save time, adds options only to the commands in WORDS.
void add_commands(CLI::App& app, Run& run, const std::vector<std::string>& words) {
  for (const Command& each : kCommands) {
    CLI::App* command = app.add_subcommand(each.name, each.description);
    if (std::ranges::find(words, each.name) == words.end()) continue;
    each.add_words(*command, run);
    refuse_empty_words(*command);
  }
}

}  // namespace

/// Opens standard streams that are closed, so that files opened later do not get the descriptors 0
/// to 2. A closed standard output becomes a read-only descriptor, so that writes to it fail.
void open_standard_streams() {
  const bool is_closed = ::fcntl(STDOUT_FILENO, F_GETFD) < 0;
  int fd = 0;
  do {
    fd = ::open("/dev/null", O_RDWR);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  const int unwritable = is_closed ? ::open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
  if (unwritable >= 0) {
    ::dup2(unwritable, STDOUT_FILENO);
    ::close(unwritable);
  }
  if (fd >= 0) ::close(fd);
}

}  // namespace quarry::app

namespace app = quarry::app;

int main(int argc, char** argv) {
  app::open_standard_streams();
  const std::vector<std::string> words(argv, argv + argc);
  app::hide_secrets(argc, argv);
  CLI::App cli{"Create, clone, sync and check Fossil repositories, and inspect their server",
               "quarry"};
  cli.set_version_flag("--version", std::string("quarry ") + QUARRY_VERSION);
  cli.require_subcommand(1);
  app::Run run;
  app::add_commands(cli, run, words);
  try {
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    cli.parse(argc, arguments.data());
  } catch (const CLI::ParseError& error) {
    return app::end_of_parse(cli, error);
  }
  try {
    return run();
  } catch (const std::exception& error) {
    return app::failed({.message = error.what()});
  }
}
