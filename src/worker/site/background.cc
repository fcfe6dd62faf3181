#include "background.h"

#include <exception>

#include "quarry/base/log.h"
#include "quarry/repository/repository_name.h"

namespace quarry::worker {
namespace {

// Maximum number of repositories in quiet_until_. A low number is enough, because checking a
// forgotten repository again takes only some microseconds.
constexpr std::size_t kMaxRemembered = 1000;

/// Checks whether background work is due for REPOSITORY. If the check fails, returns that no work
/// is due, because the next request will report problems with the file.
BackgroundCheck check_safely(const BackgroundOptions& options, repository::Repository& repository) {
  try {
    if (auto check = options.check(repository)) return *check;
  } catch (const std::exception& error) {
    base::log(base::LogLevel::kDebug, "{}: {}", repository.path().string(), error.what());
  }
  return {};
}

}  // namespace

void Background::after_request(repository::Repository& repository, std::string_view name,
                               bool has_brought) {
  if (has_brought && options_.background.is_enabled)
    master_.send({control::Verb::kEvents, repository::number_of(name)});
  request_backoffice(repository, name);
  const auto peers = has_brought ? options_.peers.find(name) : options_.peers.end();
  if (peers == options_.peers.end()) return;
  for (const std::uint32_t peer : peers->second) master_.send({control::Verb::kPeer, peer});
}

void Background::request_backoffice(repository::Repository& repository, std::string_view name) {
  if (!options_.background.is_enabled || !options_.background.check) return;
  const std::int64_t now = options_.open.clock->now().value / 1000;
  const std::string& path = repository.path().native();
  const auto known = quiet_until_.find(path);
  if (known != quiet_until_.end() && now < known->second) return;
  const BackgroundCheck found = check_safely(options_.background, repository);
  if (found.is_wanted) {
    master_.send({control::Verb::kBackoffice, repository::number_of(name)});
  } else if (found.quiet_until > now) {
    if (quiet_until_.size() >= kMaxRemembered) quiet_until_.clear();
    quiet_until_.insert_or_assign(path, found.quiet_until);
  }
}

}  // namespace quarry::worker
