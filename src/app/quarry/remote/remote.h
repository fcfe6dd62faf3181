// `quarry sync` and `quarry clone`, which return an exit code, and the code that they share: for
// the remote's URL, the login, the connection, and messages to the user.
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

/// Parses URL. A relative path in it is made absolute.
base::Result<transport::RemoteUrl> remote_url(const std::string& url);
/// Adds the password of URL's user to URL: from a file, from KEPT, or by asking for it. Does
/// nothing if URL needs no login.
base::Result<void> complete_password(transport::RemoteUrl& url, const RemoteArguments& arguments,
                                     const std::string& kept);
/// Returns options for connections to servers from REPOSITORY. For file: URLs, this program is the
/// server.
transport::TransportOptions transport_options(const RemoteArguments& arguments,
                                              repository::Repository& repository);
/// Syncs with the server at URL until the sync is complete, and shows progress and the server's
/// messages. If the server rejects the password and there is a terminal, asks for it again. Returns
/// the URL to remember, with the accepted password.
base::Result<transport::RemoteUrl> talk(repository::Repository& repository,
                                        transport::RemoteUrl url, const RemoteArguments& arguments,
                                        sync::ClientOptions options);
/// Names of the settings in which a repository stores a URL and its password.
struct RemoteKeys {
  std::string url = "last-sync-url";
  std::string password = "last-sync-pw";
};

/// Stores URL in the repository as the default for the next sync, as fossil does.
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
