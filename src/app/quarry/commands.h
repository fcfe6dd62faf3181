// The commands of `quarry` that work on a repository here, a file each; others are in remote/,
// spool/ and status/. What they return is an exit code (common/exit_codes.h).
#pragma once

#include <string>

namespace quarry::app {

struct InitArguments {
  std::string file;
  std::string project_name;
  std::string user;
  std::string password;
};
int run_init(const InitArguments& arguments);

struct HttpArguments {
  std::string path;         // a repository or a folder of them
  bool is_trusted = false;  // every request may do everything: who asks could read the file too
};
/// Both `http` and `test-http`.
int run_http(const HttpArguments& arguments);

struct VerifyArguments {
  std::string file;
  bool quiet = false;
};
int run_verify(const VerifyArguments& arguments);

struct RebuildArguments {
  std::string file;
  bool quiet = false;
};
int run_rebuild(const RebuildArguments& arguments);

struct CompactArguments {
  std::string file;
  double budget = 0;  // seconds; 0: as long as it takes
  bool vacuum = false;
  bool quiet = false;
};
int run_compact(const CompactArguments& arguments);

struct LeaseArguments {
  std::string file;
};
int run_lease(const LeaseArguments& arguments);

struct AlertsArguments {
  std::string file;
  bool digest = false;   // instead of alerts
  bool renewal = false;  // notices of subscriptions that will end, too
  bool is_test = false;  // print, and count nothing as sent
};
int run_alerts_send(const AlertsArguments& arguments);
int run_alerts_pending(const AlertsArguments& arguments);

}  // namespace quarry::app
