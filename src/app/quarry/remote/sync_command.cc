// quarry sync: syncs a repository with another one of the same project.
#include <fmt/core.h>

#include <cstdio>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/exit_codes.h"
#include "common/interruption.h"
#include "common/owner.h"
#include "password.h"
#include "quarry/base/escape.h"
#include "remote.h"

namespace quarry::app {
namespace {

/// A URL that is stored in the repository.
struct StoredRemote {
  std::string name;
  RemoteKeys keys;
};

/// The repository to sync with.
struct Destination {
  transport::RemoteUrl url;
  RemoteKeys keys;
  bool is_known = false;  // whether `url` is the URL that is stored under `keys`
};

StoredRemote remote_called(const std::string& name) {
  return {.name = name, .keys = {.url = "sync-url:" + name, .password = "sync-pw:" + name}};
}

/// GIVEN is an argument of the command line. Returns the remote with this name or, if GIVEN is
/// empty, the URL of the last sync. Returns nullopt if GIVEN is a URL or a path. A text with a
/// colon or slash is never the name of a remote. Otherwise, a user with the setup capability could
/// redirect a sync by adding a remote whose name is that URL.
std::optional<StoredRemote> remote_given(repository::Repository& file, const std::string& given) {
  StoredRemote remote = remote_called(given);
  const bool can_be_name = !given.empty() && given.find_first_of(":/") == std::string::npos;
  if (can_be_name && file.settings().get(remote.keys.url)) return remote;
  if (given.empty() || given == "default") return StoredRemote{.name = "default", .keys = {}};
  return std::nullopt;
}

/// Returns where to sync: REMOTE or, if it is nullopt, the URL in ARGUMENTS.
Result<Destination> destination(repository::Repository& file, const SyncArguments& arguments,
                                const std::optional<StoredRemote>& remote) {
  Destination to{.url = {}, .keys = remote ? remote->keys : RemoteKeys()};
  const std::string known = file.settings().get(to.keys.url).value_or("");
  if (remote && known.empty()) {
    return fail(ErrorCode::kInvalid, "no URL is stored for the remote {}: give a URL",
                base::printable(remote->name));
  }
  QUARRY_TRY_ASSIGN(to.url, remote ? stored_url(known) : remote_url(arguments.remote.url));
  // Compare normalized URLs, because fossil might have stored the last URL in another form.
  const auto remembered = known.empty() ? std::nullopt : std::optional(stored_url(known));
  to.is_known = remembered && remembered->has_value() &&
                (*remembered)->without_password() == to.url.without_password();
  const std::string kept =
      to.is_known ? unobscure(file.settings().get(to.keys.password).value_or("")) : "";
  QUARRY_TRY(complete_password(to.url, arguments.remote, kept));
  return to;
}

/// Syncs with REMOTE or, if it is nullopt, with the repository that ARGUMENTS name. Returns whether
/// anything was received.
Result<bool> sync_one(const SyncArguments& arguments,
                      std::optional<StoredRemote> remote = std::nullopt) {
  QUARRY_TRY_ASSIGN(const auto file, repository::Repository::open(arguments.file));
  if (!remote) remote = remote_given(*file, arguments.remote.url);
  QUARRY_TRY_ASSIGN(const Destination to, destination(*file, arguments, remote));
  const bool both = !arguments.push && !arguments.pull;
  sync::ClientOptions options;
  options.push = both || arguments.push;
  options.pull = both || arguments.pull;
  options.verily = arguments.verily;
  if (const auto user = file->settings().find_user(login_of_caller())) options.uid = user->uid;
  // Do this only after destination() has read the password file, because the owner of the
  // repository might not be allowed to read that file.
  QUARRY_TRY(act_as_owner_of(arguments.file));
  QUARRY_TRY_ASSIGN(const Conversation held,
                    talk(*file, to.url, arguments.remote, std::move(options)));
  const bool is_known = to.is_known && held.url.without_password() == to.url.without_password();
  if (is_known && !arguments.remote.save_password) return held.has_received;
  QUARRY_TRY_ASSIGN(repository::Receipt receipt, file->receive());
  QUARRY_TRY(remember(receipt, held.url, arguments.remote, to.keys));
  QUARRY_TRY(receipt.commit());
  return held.has_received;
}

/// Returns the destinations of fossil's `sync --all`: each remote, and the URL of the last sync if
/// that URL is not a remote's URL.
Result<std::vector<StoredRemote>> all_remotes(const std::string& path) {
  constexpr std::string_view kRow = "sync-url:";
  QUARRY_TRY_ASSIGN(const auto file, repository::Repository::open(path));
  QUARRY_TRY_ASSIGN(const auto snapshot, file->snapshot());
  std::vector<StoredRemote> remotes;
  std::set<std::string> urls;
  for (const std::string& row : file->settings().names_with(kRow)) {
    remotes.push_back(remote_called(row.substr(kRow.size())));
    urls.insert(file->settings().get(row).value_or(""));
  }
  const auto last = file->settings().get("last-sync-url");
  if (last && *last != "off" && !urls.contains(*last)) {
    remotes.push_back({.name = "default", .keys = {}});
  }
  if (remotes.empty()) {
    return fail(ErrorCode::kInvalid,
                path + ": no remote is stored; add one with `fossil remote add`");
  }
  return remotes;
}

/// Syncs with REMOTES. Continues after a failed sync, and sets CODE. Returns the number of remotes
/// before the last one that sent anything.
std::size_t sync_each(const SyncArguments& arguments, std::span<const StoredRemote> remotes,
                      int& code) {
  std::size_t before_news = 0;
  for (std::size_t i = 0; i < remotes.size() && Interruption::signal() == 0; ++i) {
    const std::string name = base::printable(remotes[i].name);
    if (!arguments.remote.quiet) {
      fmt::print("{}:\n", name);
      std::fflush(stdout);
    }
    const auto received = sync_one(arguments, remotes[i]);
    if (received.value_or(false)) before_news = i;
    if (received || Interruption::signal() != 0) continue;
    code = failed({received.error().code, fmt::format("{}: {}", name, received.error().message)});
  }
  return before_news;
}

/// Syncs with all remotes. As in fossil, the remotes before the last one that sent anything are
/// then synced again, so that all remotes have the same artifacts.
int sync_all(const SyncArguments& arguments) {
  const auto remotes = all_remotes(arguments.file);
  if (!remotes) return failed(remotes.error());
  int code = kDone;
  const std::size_t before_news = sync_each(arguments, *remotes, code);
  if (!arguments.push && !arguments.pull) {
    sync_each(arguments, std::span(*remotes).first(before_news), code);
  }
  return code;
}

}  // namespace

int run_sync(const SyncArguments& arguments) {
  if (arguments.push && arguments.pull) {
    fmt::print(stderr,
               "quarry sync: --push and --pull are mutually exclusive; without either, sync sends "
               "and receives\n");
    return kWrongUsage;
  }
  // Enables the password prompt to restore the terminal's echo after a signal.
  const Interruption interruption;
  int code = kDone;
  if (arguments.all) {
    code = sync_all(arguments);
  } else if (const auto done = sync_one(arguments); !done && Interruption::signal() == 0) {
    code = failed(done.error());
  }
  return Interruption::signal() != 0 ? exit_by_signal(Interruption::signal()) : code;
}

}  // namespace quarry::app
