// The `quarry` commands that connect to another repository. They return an exit code.
#pragma once

#include <string>

#include "remote.h"

namespace quarry::app {

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
  bool all = false;  // with every stored remote
};
int run_sync(const SyncArguments& arguments);

}  // namespace quarry::app
