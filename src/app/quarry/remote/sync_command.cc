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

/// The repository to sync with: a URL or the name of a remote from the command line, or by default
/// the URL of the last sync.
struct Destination {
  transport::RemoteUrl url;
  RemoteKeys keys;
  bool is_known = false;  // whether `url` is the URL that is stored under `keys`
};

/// Returns the settings of the remote NAME, or nullopt if the remote does not exist.
std::optional<RemoteKeys> keys_of_named(repository::Repository& file, const std::string& name) {
  RemoteKeys keys{.url = "sync-url:" + name, .password = "sync-pw:" + name};
  if (!name.empty() && file.settings().get(keys.url)) return keys;
  return std::nullopt;
}

base::Result<Destination> destination(repository::Repository& file,
                                      const SyncArguments& arguments) {
  const std::string& given = arguments.remote.url;
  const auto named = keys_of_named(file, given);
  Destination to{.url = {}, .keys = named.value_or(RemoteKeys())};
  const std::string known = file.settings().get(to.keys.url).value_or("");
  const bool is_remembered = named || given.empty() || given == "default";
  if (is_remembered && known.empty()) {
    return base::fail(base::ErrorCode::kInvalid, "no remote URL is stored: give a URL");
  }
  QUARRY_TRY_ASSIGN(to.url, is_remembered ? stored_url(known) : remote_url(given));
  // Compare normalized URLs, because fossil might have stored the last URL in another form.
  const auto remembered = known.empty() ? std::nullopt : std::optional(remote_url(known));
  to.is_known = remembered && remembered->has_value() &&
                (*remembered)->without_password() == to.url.without_password();
  const std::string kept =
      to.is_known ? unobscure(file.settings().get(to.keys.password).value_or("")) : "";
  QUARRY_TRY(complete_password(to.url, arguments.remote, kept));
  return to;
}

/// Syncs with one remote. Returns whether anything was received.
base::Result<bool> sync_one(const SyncArguments& arguments) {
  QUARRY_TRY_ASSIGN(const auto file, repository::Repository::open(arguments.file));
  QUARRY_TRY_ASSIGN(const Destination to, destination(*file, arguments));
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

/// Returns the destinations of fossil's `sync --all`: the name of each remote, and the URL of the
/// last sync if it does not belong to a remote.
base::Result<std::vector<std::string>> all_remotes(const std::string& path) {
  constexpr std::string_view kRow = "sync-url:";
  QUARRY_TRY_ASSIGN(const auto file, repository::Repository::open(path));
  QUARRY_TRY_ASSIGN(const auto snapshot, file->snapshot());
  std::vector<std::string> names;
  std::set<std::string> urls;
  for (const std::string& row : file->settings().names_with(kRow)) {
    names.push_back(row.substr(kRow.size()));
    urls.insert(file->settings().get(row).value_or(""));
  }
  const auto last = file->settings().get("last-sync-url");
  if (last && *last != "off" && !urls.contains(*last)) names.emplace_back("default");
  if (names.empty()) {
    return base::fail(base::ErrorCode::kInvalid,
                      path + ": no remote is stored; add one with `fossil remote add`");
  }
  return names;
}

/// Syncs with the remotes NAMES. Continues after a failed sync, and sets CODE. Returns the number of
/// remotes before the last one that sent anything.
std::size_t sync_each(const SyncArguments& arguments, std::span<const std::string> names,
                      int& code) {
  std::size_t before_news = 0;
  for (std::size_t i = 0; i < names.size() && Interruption::signal() == 0; ++i) {
    SyncArguments one = arguments;
    one.remote.url = names[i];
    if (!arguments.remote.quiet) {
      fmt::print("{}:\n", base::printable(names[i]));
      std::fflush(stdout);
    }
    const auto received = sync_one(one);
    if (received.value_or(false)) before_news = i;
    if (received || Interruption::signal() != 0) continue;
    code = failed({received.error().code,
                   fmt::format("{}: {}", base::printable(names[i]), received.error().message)});
  }
  return before_news;
}

/// Syncs with all remotes. As in fossil, the remotes before the last one that sent anything are
/// then synced again, so that all remotes have the same artifacts.
int sync_all(const SyncArguments& arguments) {
  const auto names = all_remotes(arguments.file);
  if (!names) return failed(names.error());
  int code = kDone;
  const std::size_t before_news = sync_each(arguments, *names, code);
  if (!arguments.push && !arguments.pull) {
    sync_each(arguments, std::span(*names).first(before_news), code);
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
