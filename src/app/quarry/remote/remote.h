// `quarry sync` and `quarry clone`, and their common code: the remote's URL, the login, the
// connection, and messages to the user. Commands return an exit code.
#pragma once

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

/// Parses URL, which the user has typed. If URL is a relative path, the result is absolute.
Result<transport::RemoteUrl> remote_url(const std::string& url);
/// Like remote_url(), but for a URL that is stored in a repository. Such a URL must not name a
/// program.
Result<transport::RemoteUrl> stored_url(const std::string& url);
/// Adds the password for URL's user to URL. The password comes from a file, from KEPT (the stored
/// password), or from a prompt. Does nothing if URL does not need a login.
Result<void> complete_password(transport::RemoteUrl& url, const RemoteArguments& arguments,
                               const std::string& kept);
/// Returns the options for connections to servers. For file: URLs, this program is the server.
transport::TransportOptions transport_options(const RemoteArguments& arguments);
/// The result of a sync.
struct Conversation {
  transport::RemoteUrl url;   // to store; includes the accepted password
  bool has_received = false;  // whether artifacts or unversioned files were received
};
/// Syncs with the server at URL until the sync is complete. Shows progress and the server's
/// messages. If the server rejects the password and the user has a terminal, asks for the password
/// again.
Result<Conversation> talk(repository::Repository& repository, transport::RemoteUrl url,
                          const RemoteArguments& arguments, sync::ClientOptions options);
/// Names of the settings that contain the URL and the password of a remote.
struct RemoteKeys {
  std::string url = "last-sync-url";
  std::string password = "last-sync-pw";
};

/// Stores URL in the repository as the default for the next sync, like fossil.
Result<void> remember(repository::Receipt& receipt, const transport::RemoteUrl& url,
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
  bool all = false;  // sync with every stored remote
};
int run_sync(const SyncArguments& arguments);

}  // namespace quarry::app
