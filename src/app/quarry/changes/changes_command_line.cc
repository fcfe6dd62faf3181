#include "changes_command_line.h"

#include <string>
#include <utility>

#include "changes_commands.h"

namespace quarry::app {
namespace {

void add_server_options(CLI::App& command, ServerArguments& server, bool is_needed) {
  auto* url = command.add_option("--to", server.url,
                                 "URL of the repository on the server (http: or https:)");
  if (is_needed) url->required();
  command.add_option("--user", server.user, "Login on the server (default: the URL's user)")
      ->needs(url);
  command
      .add_option("--password-file", server.password_file,
                  "File with the password in its first line (-: standard input)")
      ->needs(url);
  command
      .add_option("--ca-file", server.ca_file,
                  "File of CA certificates (PEM) to trust instead of the system's")
      ->needs(url);
}

QueueArguments& add_command(CLI::App& queue, Run& run, const char* name, const char* description,
                            decltype(QueueArguments::run) action) {
  CLI::App* command = queue.add_subcommand(name, description);
  auto& arguments = arguments_of(*command, run, run_queue);
  arguments.run = action;
  add_server_options(*command, arguments.server, /*is_needed=*/false);
  auto* file = command
                   ->add_option("-R,--repository", arguments.repository,
                                "Repository file (default: the repository of the open check-out)")
                   ->excludes("--to");
  command
      ->add_option("--queue", arguments.folder,
                   "Folder of the queue (default: FILE.changes beside the repository)")
      ->needs(file);
  return arguments;
}

void add_json(CLI::App& queue, const char* name, QueueArguments& arguments) {
  queue.get_subcommand(name)->add_flag("--json", arguments.as_json, "Print JSON");
}

void add_id(CLI::App& queue, const char* name, QueueArguments& arguments) {
  queue.get_subcommand(name)
      ->add_option("CSID", arguments.id, "Id of the change set, or a unique prefix of it")
      ->required();
}

void add_looking(CLI::App& queue, Run& run) {
  auto& status =
      add_command(queue, run, "status", "Show the number of change sets in each state", show_queue);
  status.list.limit = 0;
  status.list.is_list = false;
  add_json(queue, "status", status);
  auto& list = add_command(queue, run, "list",
                           "List waiting change sets in order, then finished ones", show_queue);
  add_json(queue, "list", list);
  CLI::App& listing = *queue.get_subcommand("list");
  listing.add_option("--branch", list.list.branch, "List only change sets for this branch");
  listing.add_option("--state", list.list.states,
                     "Comma-separated states (such as \"pending,running\") or groups (\"waiting\", "
                     "\"over\") to list");
  listing
      .add_option("-n,--limit", list.list.limit,
                  "Maximum number of waiting change sets, and of finished ones")
      ->capture_default_str()
      ->check(CLI::Range(0, 2'000));
  listing.add_option("--after", list.list.after,
                     "Position at which to continue (printed by an earlier list)");
  auto& show =
      add_command(queue, run, "show", "Show everything about a change set", show_change_set);
  add_id(queue, "show", show);
  add_json(queue, "show", show);
  auto& log = add_command(queue, run, "log", "Show the history of a change set", show_change_set);
  log.is_log = true;
  add_id(queue, "log", log);
  add_json(queue, "log", log);
  auto& why = add_command(queue, run, "why", "Show what a change set is waiting for", explain);
  add_id(queue, "why", why);
  add_json(queue, "why", why);
}

void add_action(CLI::App& queue, Run& run, changes::Action action, const char* description,
                const char* option, const char* about) {
  const std::string name(word_of(action));
  auto& arguments = add_command(queue, run, name.c_str(), description, act);
  arguments.action = action;
  add_id(queue, name.c_str(), arguments);
  queue.get_subcommand(name)->add_option(option, arguments.text, about);
}

void add_doing(CLI::App& queue, Run& run) {
  using changes::Action;
  for (const auto& [action, description] :
       {std::pair(Action::kHold, "Stop a change set from being executed until it is released"),
        std::pair(Action::kRelease, "Let a held change set continue"),
        std::pair(Action::kAbandon, "Remove a change set from the queue"),
        std::pair(Action::kTerminate, "Stop the execution of a change set"),
        std::pair(Action::kRetry, "Retry a failed change set")}) {
    add_action(queue, run, action, description, "--why", "Reason");
  }
  add_action(queue, run, Action::kApprove, "Approve a change set of another user", "--ref",
             "Reference, for example to a ticket");
  auto& rollback = add_command(
      queue, run, "rollback",
      "Roll back change sets, and all that depend on them or changed the same files later",
      roll_back);
  CLI::App* command = queue.get_subcommand("rollback");
  command->add_option("CSID", rollback.ids, "Ids of the change sets, or unique prefixes of them")
      ->required();
  command->add_flag("--dry-run", rollback.dry_run,
                    "List the change sets without rolling them back");
  command->add_option("--why", rollback.text, "Reason");
  add_json(queue, "rollback", rollback);
  auto& freezing = add_command(queue, run, "freeze", "Stop all change sets for a branch", freeze);
  freezing.is_freeze = true;
  queue.get_subcommand("freeze")->add_option("BRANCH", freezing.branch)->required();
  auto& thaw = add_command(queue, run, "thaw", "Let the change sets for a branch continue", freeze);
  queue.get_subcommand("thaw")->add_option("BRANCH", thaw.branch)->required();
}

void add_run(CLI::App& queue, Run& run) {
  CLI::App* command =
      queue.add_subcommand("run", "Process a local queue without a server, for example from cron");
  auto& arguments = arguments_of(*command, run, run_queue_daemons);
  command->add_option("-R,--repository", arguments.repository,
                      "Repository file (default: the repository of the open check-out)");
  command->add_option("--queue", arguments.folder,
                      "Folder of the queue (default: FILE.changes beside the repository)");
  command
      ->add_option("--set", arguments.settings,
                   "Directive of quarry.conf(5), as DIRECTIVE=VALUE; may be repeated")
      ->allow_extra_args(false);
  command->add_flag("--once", arguments.once, "Exit when there is nothing left to do")->required();
}

}  // namespace

void add_submit(CLI::App& command, Run& run) {
  auto& submit = arguments_of(command, run, run_submit);
  add_server_options(command, submit.server, /*is_needed=*/true);
  command.add_option("--target", submit.target, "Branch to land on")->required();
  command.add_option("--comment", submit.comment, "Check-in comment")->required();
  command.add_option("--type", submit.type, "Move type: development change, bug fix, emergency")
      ->capture_default_str()
      ->check(CLI::IsMember({"DC", "BF", "EM"}));
  command
      .add_option("--depends", submit.dependencies,
                  "Id of a change set that must land first; may be repeated")
      ->allow_extra_args(false);
  command.add_option("--approval", submit.approval, "Reference to an approval");
  command.add_option("--author", submit.author, "Author of the check-in (default: you)");
  auto* base =
      command.add_option("--base", submit.base,
                         "Check-in that the changes are based on (default: the current check-in)");
  command
      .add_flag("--on-tip", submit.on_tip,
                "Base the changes on the tip that the branch has when the server receives them")
      ->excludes(base);
  command
      .add_option("--delete", submit.deletions,
                  "File to delete (only outside of a check-out); may be repeated")
      ->allow_extra_args(false);
  command.add_option("FILES", submit.files,
                     "Files to submit (default in a check-out: all changed files)");
  auto* wait =
      command.add_flag("--wait", submit.waits,
                       "Wait for the outcome; the exit status is 0 if the change set has landed");
  command
      .add_option("--timeout", submit.timeout,
                  "Maximum time of --wait in seconds (default: no limit)")
      ->needs(wait)
      ->check(CLI::Range(0.1, 1e9));
}

void add_queue(CLI::App& queue, Run& run) {
  queue.require_subcommand(1);
  add_looking(queue, run);
  add_doing(queue, run);
  add_run(queue, run);
}

}  // namespace quarry::app
