// quarry: the command line for repositories and for the server. Most options are defined here; the
// commands are implemented in separate files.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "backoffice/backoffice_commands.h"
#include "changes/changes_command_line.h"
#include "commands.h"
#include "common/command_line.h"
#include "common/exit_codes.h"
#include "courier/courier_commands.h"
#include "peer/peer_command_line.h"
#include "remote/password.h"
#include "remote/remote_commands.h"
#include "spool/spool_commands.h"
#include "spool/spool_parameters.h"
#include "status/status_commands.h"
#include "usage.h"

namespace quarry::app {
namespace {

void add_control_options(CLI::App& command, ServerControl& server) {
  auto* by_socket =
      command.add_option("--socket", server.socket, "the control socket of the server");
  command
      .add_option("-c,--config", server.config,
                  "the server's configuration, which says where that is")
      ->capture_default_str()
      ->excludes(by_socket);
}

void add_remote_options(CLI::App& command, RemoteArguments& arguments) {
  command.add_option("--password-file", arguments.password_file,
                     "take the password from the first line of this file (-: standard input)");
  command.add_option("--ca-file", arguments.ca_file,
                     "believe these authorities' certificates (PEM) instead of the system's");
  command.add_option("--ssh-command", arguments.ssh_command,
                     "ssh and its first arguments (default: ssh -e none -T)");
  command.add_flag("--once", arguments.once, "do not remember the URL");
  command.add_flag("--save-password", arguments.save_password,
                   "remember the password too, readable for who can read the repository");
  command.add_flag("--private", arguments.with_private, "private branches as well");
  command.add_flag("--uv", arguments.with_unversioned, "unversioned files as well");
  command.add_flag("--quiet", arguments.quiet, "print nothing but errors");
}

void add_init(CLI::App& command, Run& run) {
  auto& init = arguments_of(command, run, run_init);
  command.add_option("FILE", init.file, "the repository file to make")->required();
  command.add_option("--project-name", init.project_name, "name of the project");
  command.add_option("--user", init.user, "login of the first user (default: your own)");
  command.add_option("--password", init.password,
                     "password of that user (default: a random one, printed)");
}

void add_clone(CLI::App& command, Run& run) {
  auto& clone = arguments_of(command, run, run_clone);
  command.add_option("URL", clone.remote.url, "http:, https:, ssh: or file: URL")->required();
  command.add_option("FILE", clone.file, "the repository file to make")->required();
  command.add_option("--admin-user", clone.admin_user,
                     "login of its administrator (default: the URL's user, or your own)");
  add_remote_options(command, clone.remote);
}

void add_sync(CLI::App& command, Run& run) {
  auto& sync = arguments_of(command, run, run_sync);
  command.add_option("REPO", sync.file, "the repository file")->required();
  auto* url = command.add_option(
      "URL", sync.remote.url,
      "http:, https:, ssh: or file: URL, or the name of a remote (default: that of the last sync)");
  command.add_flag("--all", sync.all, "with every remote that is remembered")->excludes(url);
  command.add_flag("--push", sync.push, "only send (default: both ways)");
  command.add_flag("--pull", sync.pull, "only receive (default: both ways)");
  command.add_flag("--verily", sync.verily, "name everything, for where something was overlooked");
  add_remote_options(command, sync.remote);
}

template <bool is_trusted>
void add_http(CLI::App& command, Run& run) {
  auto& http = arguments_of(command, run, run_http);
  http.is_trusted = is_trusted;
  command.add_option("REPO", http.path, "a repository file, or a folder of them")->required();
}

void add_verify(CLI::App& command, Run& run) {
  auto& verify = arguments_of(command, run, run_verify);
  command.add_option("FILE", verify.file, "the repository file to check")->required();
  command.add_flag("--quiet", verify.quiet, "print faults only");
}

void add_backoffice(CLI::App& command, Run& run) {
  auto& arguments = arguments_of(command, run, run_backoffice);
  command.add_option("FILE", arguments.files, "the repository files")->required();
  command.add_option("--poll", arguments.poll,
                     "go on, and look about every so many seconds what has changed");
  command
      .add_option("--min", arguments.min,
                  "of --poll: every so many seconds also what has not changed (0: never)")
      ->capture_default_str();
  command.add_flag("--nodelay", arguments.no_delay, "run at once or not at all");
  command.add_flag("--nolease", arguments.no_lease, "run whoever has the lease");
  command.add_flag("--compact", arguments.compacts, "store old versions as deltas on newer ones");
  command.add_option("--logfile", arguments.log_file, "append a line for each run to this file");
  command.add_flag("--trace", arguments.trace, "say on standard error what is done");
  command.add_option("--courier", arguments.courier, "the socket of the courier, for events");
  command.add_option("-c,--config", arguments.config,
                     "the server's configuration, which says where the courier and peers are");
  // Set by the server only.
  command.add_flag("--automatic", arguments.is_automatic)->group("");
  command.add_flag("--folder", arguments.is_folder)->group("");
  command.add_option("--number", arguments.number)->group("");
  command.add_option("--lease-time", arguments.lease_time)->group("");
}

void add_lease(CLI::App& command, Run& run) {
  auto& lease = arguments_of(command, run, run_lease);
  command.add_option("FILE", lease.file, "the repository file")->required();
}

void add_alerts(CLI::App& alerts, Run& run) {
  alerts.require_subcommand(1);
  CLI::App* sending = alerts.add_subcommand("send", "send what is pending, now");
  auto& sent = arguments_of(*sending, run, run_alerts_send);
  sending->add_option("FILE", sent.file, "the repository file")->required();
  sending->add_flag("--digest", sent.digest, "the digest, instead of alerts");
  sending->add_flag("--renewal", sent.renewal, "notices of subscriptions that will end, too");
  sending->add_flag("--test", sent.is_test, "print the mails, and count nothing as sent");
  CLI::App* listing = alerts.add_subcommand("pending", "list what is still to be told");
  auto& listed = arguments_of(*listing, run, run_alerts_pending);
  listing->add_option("FILE", listed.file, "the repository file")->required();
}

void add_rebuild(CLI::App& command, Run& run) {
  auto& rebuild = arguments_of(command, run, run_rebuild);
  command.add_option("FILE", rebuild.file, "the repository file to rebuild")->required();
  command.add_flag("--quiet", rebuild.quiet, "print errors only");
}

void add_compact(CLI::App& command, Run& run) {
  auto& compact = arguments_of(command, run, run_compact);
  command.add_option("FILE", compact.file, "the repository file to compact")->required();
  command
      .add_option("--budget", compact.budget,
                  "end after so many seconds; the next time goes on there (default: 0, when done)")
      ->check(CLI::Range(0.0, 1e6));
  command.add_flag("--vacuum", compact.vacuum,
                   "then give the free pages back to the disk: writes the whole file anew");
  command.add_flag("--quiet", compact.quiet, "print errors only");
}

void add_status(CLI::App& command, Run& run) {
  auto& status = arguments_of(command, run, run_status);
  command.add_option("POOL", status.pools, "the pools to tell of (default: all)");
  add_control_options(command, status.server);
  command.add_flag("--full", status.is_full, "with all workers");
  command.add_flag("--json", status.as_json, "as JSON");
}

void add_top(CLI::App& command, Run& run) {
  auto& top = arguments_of(command, run, run_top);
  add_control_options(command, top.server);
  command.add_option("--interval", top.interval, "seconds between two looks, from 0.1 to 3600")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 3600.0))
      // NaN passes every range check.
      ->check([](const std::string& text) {
        return std::isnan(std::stod(text)) ? "not a number" : "";
      });
  command.add_option("--count", top.count, "end after so many (default: go on)")
      ->check(CLI::Range(1, 1000000000));
}

SpoolArguments& add_spool_command(CLI::App& spool, Run& run, const char* name,
                                  const char* description, int (*action)(const SpoolArguments&)) {
  CLI::App* command = spool.add_subcommand(name, description);
  auto& arguments = arguments_of(*command, run, action);
  command->add_option("DIR", arguments.folder, "the folder of the queue's files")->required();
  command->add_option("--filename", arguments.filename, "what their names begin with")
      ->capture_default_str()
      ->check([](const std::string& given) {
        const bool is_good = !given.empty() && given.find('/') == std::string::npos;
        return is_good ? std::string() : std::string("must be a name without a folder");
      });
  return arguments;
}

/// Adds the queue.* parameters WANTED as options.
void add_queue_parameters(CLI::App& command, SpoolArguments& arguments,
                          std::initializer_list<const char*> wanted) {
  for (const std::string name : wanted) {
    const SpoolHelp help = spool_help(name);
    command
        .add_option_function<std::string>(
            "--" + name,
            [&arguments, name](const std::string& value) {
              arguments.parameters.emplace_back(name, value);
            },
            help.description)
        ->type_name(help.value);
  }
}

void add_dead_option(CLI::App& spool, const char* name, SpoolArguments& arguments) {
  spool.get_subcommand(name)
      ->add_option("--dead", arguments.dead,
                   "of a stream: what this subscription of it has given up")
      ->type_name("SUBSCRIPTION");
}

void add_spool(CLI::App& spool, Run& run) {
  spool.require_subcommand(1);
  auto& status = add_spool_command(spool, run, "status", "tell how full it is", run_spool_status);
  spool.get_subcommand("status")->add_flag("--json", status.as_json, "as JSON");
  auto& listed = add_spool_command(
      spool, run, "list", "tell what waits: number, severity, bytes, beginning", run_spool_list);
  add_dead_option(spool, "list", listed);
  auto& exported = add_spool_command(spool, run, "export", "print what waits, and leave it there",
                                     run_spool_export);
  CLI::App* exporting = spool.get_subcommand("export");
  exporting->add_flag("-0,--null", exported.is_null, "end messages with NUL instead of newline");
  exporting->add_flag("--json", exported.as_json, "as JSON, one object a line");
  add_dead_option(spool, "export", exported);
  auto& replayed = add_spool_command(
      spool, run, "replay",
      "put what can be read in segments set aside, or dead letters, back into the queue",
      run_spool_replay);
  add_dead_option(spool, "replay", replayed);
  auto& purged = add_spool_command(spool, run, "purge", "remove what waits", run_spool_purge);
  add_dead_option(spool, "purge", purged);

  auto& fed = add_spool_command(spool, run, "feed",
                                "put lines of standard input there; ends when all are safe",
                                run_spool_feed);
  CLI::App* feeding = spool.get_subcommand("feed");
  feeding->add_flag("-0,--null", fed.is_null, "messages end with NUL instead of newline");
  feeding->add_option("--severity", fed.severity, "of all of them, 0 (most) to 7")
      ->default_str(std::to_string(fed.severity))
      ->check(CLI::Range(0, 7));
  add_queue_parameters(*feeding, fed,
                       {"type", "size", "highwatermark", "lowwatermark", "fulldelaymark",
                        "discardmark", "discardseverity", "samplinginterval", "maxfilesize",
                        "maxdiskspace", "syncqueuefiles", "timeoutenqueue", "timeoutshutdown"});
  auto& drained = add_spool_command(spool, run, "drain",
                                    "print what waits, and forget what was read", run_spool_drain);
  CLI::App* draining = spool.get_subcommand("drain");
  draining->add_flag("-0,--null", drained.is_null, "end messages with NUL instead of newline");
  draining->add_flag("-f,--follow", drained.follow, "wait for more");
  draining
      ->add_option("--ack", drained.acknowledgements,
                   "a descriptor that tells what is done with, in a line for each message, or with "
                   "a number for so many (default: what the reader has taken is)")
      ->type_name("FD")
      ->check([](const std::string& given) {
        const bool is_input = given != "1" && given != "2" && !given.starts_with('-');
        return is_input ? std::string() : std::string("must be a descriptor to read from");
      });
  add_queue_parameters(
      *draining, drained,
      {"dequeuebatchsize", "mindequeuebatchsize", "mindequeuebatchsize.timeout", "dequeuetimebegin",
       "dequeuetimeend", "checkpointinterval", "syncqueuefiles", "oncorruption"});
}

CourierArguments& add_courier_command(CLI::App& courier, Run& run, const char* name,
                                      const char* description,
                                      int (*action)(const CourierArguments&)) {
  CLI::App* command = courier.add_subcommand(name, description);
  auto& arguments = arguments_of(*command, run, action);
  command->add_option("-c,--config", arguments.config, "the server's configuration")
      ->capture_default_str();
  return arguments;
}

void add_courier(CLI::App& courier, Run& run) {
  courier.require_subcommand(1);
  auto& status = add_courier_command(courier, run, "status", "tell what waits for each destination",
                                     run_courier_status);
  courier.get_subcommand("status")->add_flag("--json", status.as_json, "as JSON");
  auto& test = add_courier_command(courier, run, "test",
                                   "send an event to one destination, and tell what became of it",
                                   run_courier_test);
  CLI::App* testing = courier.get_subcommand("test");
  testing->add_option("NAME", test.destination, "the destination")->required();
  testing->add_option("--timeout", test.timeout, "how many seconds to wait")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 86400.0));
  auto& forget = add_courier_command(
      courier, run, "forget",
      "remove what waits for a destination that is no longer in the configuration",
      run_courier_forget);
  courier.get_subcommand("forget")
      ->add_option("NAME", forget.destination, "what it was called")
      ->required();
}

struct Command {
  const char* name;
  const char* description;
  void (*add_words)(CLI::App& command, Run& run);
};

constexpr Command kCommands[] = {
    {"init", "make a new repository", add_init},
    {"clone", "make a copy of a repository that syncs with it", add_clone},
    {"sync", "exchange what is new with another repository of the project", add_sync},
    {"http", "answer one HTTP request on standard input, or as a CGI program", add_http<false>},
    {"test-http",
     "the same with all rights, for request after request: what clients start over ssh",
     add_http<true>},
    {"verify", "check every hash, every delta, and the derived tables; changes nothing",
     add_verify},
    {"rebuild", "compute every derived table from the artifacts; all or nothing", add_rebuild},
    {"compact", "store old versions as deltas on newer ones; others may use the file meanwhile",
     add_compact},
    {"backoffice", "do what is to be done for repositories when nobody waits: mail, hooks, …",
     add_backoffice},
    {"peer", "repositories that sync with others by themselves", add_peer},
    {"lease", "show who has the background work in hand: fossil's backoffice or another",
     add_lease},
    {"alerts", "mail to the subscribers of a repository", add_alerts},
    {"status", "tell how a running server is", add_status},
    {"top", "show what a running server does, live", add_top},
    {"spool", "look after the files of a queue, or use one", add_spool},
    {"courier", "look after the delivery of events", add_courier},
    {"submit", "send what has changed to a server's queue, to be landed on a branch", add_submit},
    {"queue", "look after a queue of change sets, here or on a server", add_queue},
};

/// Adds all commands, but options only for those in WORDS, because defining all options takes
/// longer than most commands.
void add_commands(CLI::App& app, Run& run, const std::vector<std::string>& words) {
  for (const Command& each : kCommands) {
    CLI::App* command = app.add_subcommand(each.name, each.description);
    if (std::ranges::find(words, each.name) != words.end()) each.add_words(*command, run);
  }
}

}  // namespace

/// Opens closed standard streams, so that no file gets their numbers. A closed standard output
/// becomes a descriptor that cannot be written, because writes to /dev/null would seem to succeed.
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
  CLI::App cli{
      "quarry: make, clone, sync and check Fossil repositories, and look at the server of them",
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
