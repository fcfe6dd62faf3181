#include "spool_command_line.h"

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <string>

#include "spool_commands.h"

namespace quarry::app {
namespace {

template <typename Outcome>
SpoolArguments& add_spool_command(CLI::App& spool, Run& run, const char* name,
                                  const char* description, Outcome (*action)(const SpoolArguments&),
                                  const char* help_of_filename =
                                      "Prefix of the files' names (default: queue, or the name of "
                                      "the only stream in DIR)") {
  CLI::App* command = spool.add_subcommand(name, description);
  auto& arguments = arguments_of(*command, run, action);
  command->add_option("DIR", arguments.folder, "Folder of the queue's files")->required();
  command->add_option("--filename", arguments.filename, help_of_filename)
      ->check([](const std::string& given) {
        const bool is_good = !given.empty() && given.find('/') == std::string::npos;
        return is_good ? std::string() : std::string("must be a name without a folder");
      });
  return arguments;
}

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
                   "Use the dead letters of this subscription to a stream")
      ->type_name("SUBSCRIPTION");
}

}  // namespace

void add_spool(CLI::App& spool, Run& run) {
  static constexpr const char* kHelpOfQueueName = "Prefix of the files' names; default: queue";
  spool.require_subcommand(1);
  auto& status = add_spool_command(spool, run, "status", "Show the number and size of messages",
                                   run_spool_status);
  spool.get_subcommand("status")->add_flag("--json", status.as_json, "Print JSON");
  auto& listed = add_spool_command(spool, run, "list",
                                   "List each message's number, severity, size and first bytes",
                                   run_spool_list);
  add_dead_option(spool, "list", listed);
  auto& exported = add_spool_command(spool, run, "export", "Print all messages, and keep them",
                                     run_spool_export);
  CLI::App* exporting = spool.get_subcommand("export");
  exporting->add_flag("-0,--null", exported.is_null, "End messages with NUL instead of newline");
  exporting->add_flag("--json", exported.as_json, "Print JSON, one object per line");
  add_dead_option(spool, "export", exported);
  auto& replayed = add_spool_command(
      spool, run, "replay", "Put messages from damaged files or dead letters back into the queue",
      run_spool_replay);
  add_dead_option(spool, "replay", replayed);
  auto& purged = add_spool_command(spool, run, "purge", "Delete all messages", run_spool_purge);
  add_dead_option(spool, "purge", purged);

  auto& fed =
      add_spool_command(spool, run, "feed", "Store each line of standard input as a message",
                        run_spool_feed, kHelpOfQueueName);
  CLI::App* feeding = spool.get_subcommand("feed");
  feeding->add_flag("-0,--null", fed.is_null, "Messages end with NUL instead of newline");
  feeding
      ->add_option("--severity", fed.severity,
                   "Severity of all messages, from 0 (most important) to 7")
      ->default_str(std::to_string(fed.severity))
      ->check(CLI::Range(0, 7));
  add_queue_parameters(*feeding, fed,
                       {"type", "size", "highwatermark", "lowwatermark", "fulldelaymark",
                        "discardmark", "discardseverity", "samplinginterval", "maxfilesize",
                        "maxdiskspace", "syncqueuefiles", "timeoutenqueue", "timeoutshutdown"});
  auto& drained = add_spool_command(
      spool, run, "drain", "Print messages, and delete them after the reader has read them",
      run_spool_drain, kHelpOfQueueName);
  CLI::App* draining = spool.get_subcommand("drain");
  draining->add_flag("-0,--null", drained.is_null, "End messages with NUL instead of newline");
  draining->add_flag("-f,--follow", drained.follow, "Wait for more messages");
  draining
      ->add_option("--ack", drained.acknowledgements,
                   "File descriptor to read acknowledgments from: an empty line for each message, "
                   "or a line with a number of messages (default: a message counts as acknowledged "
                   "when the reader has read it)")
      ->type_name("FD")
      ->check([](const std::string& given) {
        const bool is_input = given != "1" && given != "2" && !given.starts_with('-');
        return is_input ? std::string()
                        : std::string("must be a file descriptor that is open for reading");
      });
  add_queue_parameters(
      *draining, drained,
      {"dequeuebatchsize", "mindequeuebatchsize", "mindequeuebatchsize.timeout", "dequeuetimebegin",
       "dequeuetimeend", "checkpointinterval", "syncqueuefiles", "oncorruption"});
}

}  // namespace quarry::app
