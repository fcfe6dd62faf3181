#include "changes_command_line.h"

#include <string>
#include <vector>

#include "changes_commands.h"

namespace quarry::app {
namespace {

void add_server_options(CLI::App& command, ServerArguments& server, bool is_needed) {
  auto* url = command.add_option("--to", server.url,
                                 "the repository's URL on the server (http: or https:)");
  if (is_needed) url->required();
  command.add_option("--user", server.user, "who you are there (default: the URL's user)")
      ->needs(url);
  command
      .add_option("--password-file", server.password_file,
                  "take the password from the first line of this file (-: standard input)")
      ->needs(url);
  command
      .add_option("--ca-file", server.ca_file,
                  "believe these authorities' certificates (PEM) instead of the system's")
      ->needs(url);
}

QueueArguments& add_command(CLI::App& queue, Run& run, const char* name, const char* description,
                            int (*action)(const QueueArguments&)) {
  CLI::App* command = queue.add_subcommand(name, description);
  auto& arguments = arguments_of(*command, run, action);
  add_server_options(*command, arguments.server, /*is_needed=*/false);
  auto* file = command
                   ->add_option("-R,--repository", arguments.repository,
                                "the repository file (default: that of the open check-out)")
                   ->excludes("--to");
  command
      ->add_option("--queue", arguments.folder,
                   "the queue's folder (default: FILE.changes beside the repository)")
      ->needs(file);
  return arguments;
}

void add_json(CLI::App& queue, const char* name, QueueArguments& arguments) {
  queue.get_subcommand(name)->add_flag("--json", arguments.as_json, "as JSON");
}

void add_id(CLI::App& queue, const char* name, QueueArguments& arguments) {
  queue.get_subcommand(name)
      ->add_option("CSID", arguments.id, "the change set: its id, or the beginning of it")
      ->required();
}

void add_looking(CLI::App& queue, Run& run) {
  auto& status =
      add_command(queue, run, "status", "tell how many change sets are where", run_queue_status);
  add_json(queue, "status", status);
  auto& list = add_command(queue, run, "list", "list what waits, in order, and what is over",
                           run_queue_list);
  add_json(queue, "list", list);
  CLI::App& listing = *queue.get_subcommand("list");
  listing.add_option("--branch", list.list.branch, "of this branch alone");
  listing.add_option("--state", list.list.states,
                     "in these folders alone (pending,run, say), or what is waiting, or over");
  listing.add_option("-n,--limit", list.list.limit, "so many of each kind at the most")
      ->capture_default_str()
      ->check(CLI::Range(0, 2'000));
  listing.add_option("--after", list.list.after, "go on where an earlier list has ended");
  auto& show = add_command(queue, run, "show", "tell all about a change set", run_queue_show);
  add_id(queue, "show", show);
  add_json(queue, "show", show);
  auto& log = add_command(queue, run, "log", "tell what happened to a change set", run_queue_log);
  add_id(queue, "log", log);
  add_json(queue, "log", log);
  auto& why = add_command(queue, run, "why", "tell what a change set waits for", run_queue_why);
  add_id(queue, "why", why);
  add_json(queue, "why", why);
  queue.get_subcommand("why")
      ->add_option("--needs-approval", why.needs_approval,
                   "move types that need one, as configured (changes.needs_approval)")
      ->needs("--repository")
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"RB", "EM", "BF", "DC"}));
}

void add_action(CLI::App& queue, Run& run, const char* name, const char* description,
                int (*action)(const QueueArguments&), const char* option, const char* about) {
  auto& arguments = add_command(queue, run, name, description, action);
  add_id(queue, name, arguments);
  queue.get_subcommand(name)->add_option(option, arguments.text, about);
}

void add_doing(CLI::App& queue, Run& run) {
  add_action(queue, run, "hold", "let a change set wait until it is released", run_queue_hold,
             "--why", "the reason");
  add_action(queue, run, "release", "let a change set go on that is held", run_queue_release,
             "--why", "the reason");
  add_action(queue, run, "abandon", "take a change set out of the queue", run_queue_abandon,
             "--why", "the reason");
  add_action(queue, run, "terminate", "stop the execution of a change set", run_queue_terminate,
             "--why", "the reason");
  add_action(queue, run, "retry", "try a change set again that has failed", run_queue_retry,
             "--why", "the reason");
  add_action(queue, run, "approve", "approve a change set of somebody else", run_queue_approve,
             "--ref", "a reference: of a ticket, say");
  auto& rollback =
      add_command(queue, run, "rollback", "take change sets back, with all that depends on them",
                  run_queue_rollback);
  CLI::App* taking_back = queue.get_subcommand("rollback");
  taking_back->add_option("CSID", rollback.ids, "the change sets, or the beginnings of their ids")
      ->required();
  taking_back->add_flag("--dry-run", rollback.dry_run, "only tell which those are");
  taking_back->add_option("--why", rollback.text, "the reason");
  add_json(queue, "rollback", rollback);
  auto& freeze =
      add_command(queue, run, "freeze", "let all that is for a branch wait", run_queue_freeze);
  queue.get_subcommand("freeze")->add_option("BRANCH", freeze.branch)->required();
  auto& thaw = add_command(queue, run, "thaw", "let it go on", run_queue_thaw);
  queue.get_subcommand("thaw")->add_option("BRANCH", thaw.branch)->required();
}

void add_run(CLI::App& queue, Run& run) {
  CLI::App* command = queue.add_subcommand(
      "run", "do what is to be done in a queue here, where no server does (from cron)");
  auto& arguments = arguments_of(*command, run, run_queue_run);
  command->add_option("-R,--repository", arguments.repository,
                      "the repository file (default: that of the open check-out)");
  command->add_option("--queue", arguments.folder,
                      "the queue's folder (default: FILE.changes beside the repository)");
  command->add_option("--set", arguments.settings, "WORD=VALUE, as in quarry.conf(5)")
      ->allow_extra_args(false);
  command->add_flag("--once", arguments.once, "end when nothing is left to do")->required();
}

}  // namespace

void add_submit(CLI::App& command, Run& run) {
  auto& submit = arguments_of(command, run, run_submit);
  add_server_options(command, submit.server, /*is_needed=*/true);
  command.add_option("--target", submit.target, "the branch that it is for")->required();
  command.add_option("--comment", submit.comment, "of the check-in")->required();
  command
      .add_option("--type", submit.type, "the move type: development change, bug fix, emergency")
      ->capture_default_str()
      ->check(CLI::IsMember({"DC", "BF", "EM"}));
  command
      .add_option("--depends", submit.dependencies,
                  "ids of change sets that have to have landed before")
      ->allow_extra_args(false);
  command.add_option("--approval", submit.approval, "a reference of who allowed it");
  command.add_option("--author", submit.author, "whose check-in it is (default: yours)");
  auto* base = command.add_option(
      "--base", submit.base,
      "the check-in that it was made from (default: that of the open check-out)");
  command.add_flag("--on-tip", submit.on_tip, "take the files as they are, whatever the tip has")
      ->excludes(base);
  command.add_option("--delete", submit.deletions, "files to remove, outside of a check-out")
      ->allow_extra_args(false);
  command.add_option("FILES", submit.files,
                     "of the check-out's changes these alone; outside of one, what to submit");
  auto* wait = command.add_flag("--wait", submit.waits,
                                "wait for the outcome: the exit code is 0 where it has landed");
  command.add_option("--timeout", submit.timeout, "of --wait, in seconds (default: for ever)")
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
