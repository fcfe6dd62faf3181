// What `quarry sync` and `quarry clone` share: the other side, who logs in there, how it is
// reached, and what a person is told meanwhile.
#pragma once

#include <cstdint>
#include <string>

#include "quarry/base/result.h"
#include "quarry/repository/repository.h"
#include "quarry/sync/client_session.h"
#include "quarry/transport/remote_url.h"
#include "quarry/transport/transport.h"

namespace quarry::app {

/// Options of the command line.
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

/// ARGUMENTS.url; a path in it becomes absolute.
base::Result<transport::RemoteUrl> remote_url(const std::string& url);
/// The password of URL's user, put into URL: from a file, KEPT, or by asking. Where nobody logs in
/// nothing happens.
base::Result<void> complete_password(transport::RemoteUrl& url, const RemoteArguments& arguments,
                                     const std::string& kept);
/// How servers are reached from REPOSITORY; file: by this very program.
transport::TransportOptions transport_options(const RemoteArguments& arguments,
                                              repository::Repository& repository);
/// Talks to the server at URL until everything is said, and tells how far it is, and what the
/// server has for people. A password that the server does not take is asked for again, where there
/// is somebody to ask. Returns the URL to remember, with the password that was taken.
base::Result<transport::RemoteUrl> talk(repository::Repository& repository,
                                        transport::RemoteUrl url, const RemoteArguments& arguments,
                                        sync::ClientOptions options);
/// The settings in which a repository keeps a URL, and what its user is known by there.
struct RemoteKeys {
  std::string url = "last-sync-url";
  std::string password = "last-sync-pw";
};

/// Keeps URL in the repository, as fossil does, for the next sync without one.
base::Result<void> remember(repository::Receipt& receipt, const transport::RemoteUrl& url,
                            const RemoteArguments& arguments, const RemoteKeys& keys = {});

}  // namespace quarry::app
