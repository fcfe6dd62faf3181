// The commands of `quarry`, a file each. What they return is an exit code (exit_codes.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "remote/remote.h"
#include "status/server_place.h"

namespace quarry::app {

struct InitArguments {
  std::string file;
  std::string project_name;
  std::string user;
  std::string password;
};
int run_init(const InitArguments& arguments);

struct CloneArguments {
  std::string file;
  std::string admin_user;
  RemoteArguments remote;
};
int run_clone(const CloneArguments& arguments);

struct SyncArguments {
  std::string file;
  RemoteArguments remote;
  bool push = false;
  bool pull = false;
  bool verily = false;
};
int run_sync(const SyncArguments& arguments);

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

struct StatusArguments {
  ServerPlace server;
  std::vector<std::string> pools;  // empty: all
  bool as_json = false;
  bool is_full = false;

  bool wants(const std::string& pool) const {
    return pools.empty() || std::ranges::find(pools, pool) != pools.end();
  }
};
int run_status(const StatusArguments& arguments);

struct TopArguments {
  ServerPlace server;
  double interval = 1;      // seconds
  std::uint64_t count = 0;  // of frames; 0: no end
};
int run_top(const TopArguments& arguments);

struct SpoolArguments {
  std::string folder;
  std::string filename = "queue";
  std::string dead;  // the subscription whose dead letters are meant
  bool as_json = false;
  bool is_null = false;  // messages end in a NUL, not in a newline
  bool follow = false;
  std::uint8_t severity = 6;
  int acknowledgements = -1;  // the descriptor that they come on
  /// queue.* without that, and the value.
  std::vector<std::pair<std::string, std::string>> parameters;
};
int run_spool_status(const SpoolArguments& arguments);
int run_spool_list(const SpoolArguments& arguments);
int run_spool_export(const SpoolArguments& arguments);
int run_spool_replay(const SpoolArguments& arguments);
int run_spool_purge(const SpoolArguments& arguments);
int run_spool_feed(const SpoolArguments& arguments);
int run_spool_drain(const SpoolArguments& arguments);

}  // namespace quarry::app
