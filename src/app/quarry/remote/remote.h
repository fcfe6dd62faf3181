// `quarry sync` and `quarry clone`, which return an exit code, and what they share: the remote's URL,
// the login, the connection, and the messages for the user.
#pragma once

#include <cstdint>
#include <string>

#include "quarry/base/result.h"
#include "quarry/repository/repository.h"
#include "quarry/sync/client_session.h"
#include "quarry/transport/remote_url.h"
#include "quarry/transport/transport.h"

namespace quarry::app {

/// Command-line options.
struct RemoteArguments {
  std::string url;
  std::string password_file;
  std::string ca_file;
  std::string ssh_command;
  bool once = false;
  bool save_password = false;
  bool with_private = false;
  bool with_unversioned = false;
  bool quiet = false;
};

/// Parses URL; a relative path in it becomes absolute.
base::Result<transport::RemoteUrl> remote_url(const std::string& url);
/// Adds the password of URL's user: from a file, KEPT, or by asking. Does nothing if the URL needs
/// no login.
base::Result<void> complete_password(transport::RemoteUrl& url, const RemoteArguments& arguments,
                                     const std::string& kept);
/// How to connect to servers from REPOSITORY; for file: URLs, through this program.
transport::TransportOptions transport_options(const RemoteArguments& arguments,
                                              repository::Repository& repository);
/// Syncs with the server at URL until it is done, and shows progress and the server's messages. If
/// the server rejects the password and there is a terminal, asks again. Returns the URL to
/// remember, with the accepted password.
base::Result<transport::RemoteUrl> talk(repository::Repository& repository,
                                        transport::RemoteUrl url, const RemoteArguments& arguments,
                                        sync::ClientOptions options);
/// The settings in which a repository stores a URL and the password for it.
struct RemoteKeys {
  std::string url = "last-sync-url";
  std::string password = "last-sync-pw";
};

/// Stores URL in the repository, as fossil does, as the default for the next sync.
base::Result<void> remember(repository::Receipt& receipt, const transport::RemoteUrl& url,
                            const RemoteArguments& arguments, const RemoteKeys& keys = {});

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
