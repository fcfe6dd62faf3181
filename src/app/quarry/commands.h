// The `quarry` commands for a local repository. Other commands are in the folders next to this
// header. Each function returns a result or an exit code (common/exit_codes.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quarry/base/result.h"

namespace quarry::app {

struct InitArguments {
  std::string file;
  std::string project_name;
  std::string user;
  std::string password;
  bool as_json = false;
};
Result<void> run_init(const InitArguments& arguments);

struct HttpArguments {
  std::string path;         // a repository, or a folder of repositories
  bool is_trusted = false;  // the client has all capabilities, because it can open the file itself
  std::string config;       // configuration of the server whose courier gets the events
};
/// Runs `http` and `test-http`.
int run_http(const HttpArguments& arguments);

struct WholeFileArguments {
  std::string file;
  bool quiet = false;
  bool as_json = false;  // only for run_verify()
};
int run_verify(const WholeFileArguments& arguments);
int run_rebuild(const WholeFileArguments& arguments);

struct BackupArguments {
  std::string source;       // a repository, or a folder of repositories
  std::string destination;  // a file or a folder
  bool is_unverified = false;
  bool is_forced = false;  // replace existing files that are not backups of the same repository
  bool as_json = false;
  bool quiet = false;
};
int run_backup(const BackupArguments& arguments);

struct RestoreArguments {
  std::string backup;
  std::string file;
  bool is_forced = false;  // replace the content of an existing file
  bool as_json = false;
  bool quiet = false;
};
int run_restore(const RestoreArguments& arguments);

struct CompactArguments {
  std::string file;
  double budget = 0;  // time limit in seconds; 0: no limit
  bool vacuum = false;
  bool quiet = false;
};
int run_compact(const CompactArguments& arguments);

struct BackofficeArguments {
  std::vector<std::string> files;
  std::int64_t poll = 0;    // seconds between checks; below 1: check once
  std::int64_t min = 3600;  // seconds between runs of an unchanged repository while polling
  bool no_delay = false;
  bool no_lease = false;
  bool compacts = false;
  std::string log_file;
  bool trace = false;
  std::int64_t lease_time = 60;  // seconds
  std::string courier;           // path of the courier's socket
  std::string hooks;             // path of the socket that accepts hooks
  std::string webhooks;          // the socket that accepts events for webhooks of repositories
  std::string replica;           // quarry-replica's socket; "": the files are not replicated
  std::string pool;              // the replicated pool of the files
  bool only_events = false;      // only send events and hooks
  // Set only by the server:
  bool is_automatic = false;
  bool is_folder = false;               // the first of FILES is a folder of repositories
  bool only_requests = false;           // only request runs for mail that has to be retried
  std::optional<std::uint32_t> number;  // only repositories whose number_of() is this number
  std::string served_name;              // name on the server; "": derived from the path
  /// The allowed values of the repository's setting email-send-method; empty: all.
  std::vector<std::string> mail_methods;
};
int run_backoffice(const BackofficeArguments& arguments);

struct LeaseArguments {
  std::string file;
  bool as_json = false;
};
Result<void> run_lease(const LeaseArguments& arguments);

struct AlertsArguments {
  std::string file;
  bool digest = false;   // the digest instead of alerts
  bool renewal = false;  // also send notices about subscriptions that end soon
  bool is_test = false;  // print the emails without marking them as sent
};
int run_alerts_send(const AlertsArguments& arguments);
Result<void> run_alerts_pending(const AlertsArguments& arguments);

}  // namespace quarry::app
