#include "peer_configuration.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>

#include "quarry/base/escape.h"
#include "quarry/base/url.h"
#include "quarry/http/form.h"
#include "quarry/master/kinds.h"
#include "quarry/repository/repository_name.h"

namespace quarry::app {
namespace {

using backoffice::PeerOptions;
using master::Directive;
using master::Path;
using master::Switch;
using master::Text;
using master::Timeout;

constexpr std::string_view kPeer = "peer ";
constexpr std::string_view kProgram = "?fossil=";

/// A URL. The server checks only the scheme and the user, because a full check needs libcurl, which
/// the server does not load. The first sync reports all other errors.
struct PeerUrl : Text {
  static bool is_file(std::string_view url) {
    return url.starts_with('/') || url.starts_with("file:");
  }
  static bool is_http(std::string_view url) {
    return url.starts_with("http://") || url.starts_with("https://");
  }
  /// The error messages do not contain VALUE, because it might contain a password.
  static Result<void> put(std::string& target, const std::string& value) {
    if (!is_file(value) && !is_http(value) && !value.starts_with("ssh://")) {
      return fail(ErrorCode::kInvalid,
                  "must begin with http://, https://, ssh://, file: or a slash");
    }
    if (!is_file(value)) {
      const std::string_view user = base::credentials_in(value);
      if (user.contains(':')) {
        return fail(ErrorCode::kInvalid, "the URL must not contain a password; use password_file");
      }
      const std::size_t begin = value.find("://") + 3 + (user.empty() ? 0 : user.size() + 1);
      if (begin >= value.size() || value[begin] == '/') {
        return fail(ErrorCode::kInvalid, "the URL does not contain a host");
      }
    } else if (!file_of(value).starts_with('/')) {
      return fail(ErrorCode::kInvalid, "the path of a file must begin with a slash");
    }
    target = value;
    return {};
  }

  static std::string_view file_of(std::string_view url) {
    if (url.starts_with("file:")) url.remove_prefix(5);
    if (url.starts_with("//")) url.remove_prefix(2);
    return url;
  }
};

constexpr auto kPeerDirectives = std::to_array<Directive<PeerSectionOptions>>({
    {"pool", Text(), QUARRY_FIELD(pool)},
    {"repository", Text(), QUARRY_FIELD(repository)},
    {"url", PeerUrl(), QUARRY_FIELD(peer.url)},
    {"remote", Text(), QUARRY_FIELD(peer.remote)},
    {"password_file", Path(), QUARRY_FIELD(peer.password_file)},
    {"ca_file", Path(), QUARRY_FIELD(peer.ca_file)},
    {"direction", master::Choice<backoffice::kPeerDirections>(), QUARRY_FIELD(peer.direction)},
    {"private", Switch(), QUARRY_FIELD(peer.with_private)},
    {"uv", Switch(), QUARRY_FIELD(peer.with_unversioned)},
    {"interval", Timeout(), QUARRY_FIELD(peer.interval)},
    {"retry.delay", Timeout(), QUARRY_FIELD(peer.retry_delay)},
    {"retry.max_delay", Timeout(), QUARRY_FIELD(peer.retry_max_delay)},
    {"timeout", Timeout(), QUARRY_FIELD(peer.timeout)},
    {"max_time", Timeout(), QUARRY_FIELD(peer.max_time)},
});

/// Checks that PEER has a password file if and only if its URL has a user who needs a password.
Result<void> check_password(const PeerOptions& peer) {
  const std::string user(base::credentials_in(peer.url));
  const bool is_guest = user.empty() || user == "anonymous" || user == "nobody";
  const bool logs_in = PeerUrl::is_http(peer.url) && !is_guest;
  if (logs_in && peer.password_file.empty()) {
    return fail(ErrorCode::kInvalid, "needs a password_file for user {}", base::printable(user));
  }
  if (!logs_in && !peer.password_file.empty()) {
    return fail(ErrorCode::kInvalid,
                "password_file requires an http or https url that contains a user");
  }
  return {};
}

class PeerSection final : public master::OptionsBy<PeerSectionOptions> {
 public:
  explicit PeerSection(std::string name)
      : OptionsBy(kPeerDirectives,
                  {.pool = {}, .repository = {}, .peer = {.name = std::move(name)}}) {}

  Result<void> check() const override {
    const PeerOptions& peer = options().peer;
    QUARRY_TRY(backoffice::check_peer_name(peer.name));
    if (peer.url.empty() == peer.remote.empty()) {
      return fail(ErrorCode::kInvalid, "needs either url or remote");
    }
    if (peer.retry_max_delay < peer.retry_delay) {
      return fail(ErrorCode::kInvalid, "retry.max_delay is less than retry.delay");
    }
    if (!peer.remote.empty() && !peer.password_file.empty()) {
      return fail(
          ErrorCode::kInvalid,
          "password_file requires url, because users with the setup capability can change the "
          "URL of a remote");
    }
    return peer.url.empty() ? Result<void>() : check_password(peer);
  }
};

Result<const master::PoolConfig*> pool_of(const master::Config& config, const std::string& name) {
  if (name.empty()) {
    if (config.pools.size() == 1) return &config.pools.front();
    return fail(ErrorCode::kInvalid, "needs pool = NAME, because there are several pools");
  }
  const auto at = std::ranges::find(config.pools, name, &master::PoolConfig::name);
  if (at != config.pools.end()) return &*at;
  return fail(ErrorCode::kInvalid, "pool: [{}] does not exist", base::printable(name));
}

/// Finds the repository of PEER: a file in POOL's folder, the only repository of POOL, or any other
/// file.
Result<void> find_repository(const master::PoolConfig& pool, const std::string& repository,
                             ConfiguredPeer& peer) {
  const bool is_only_one = !pool.repository.empty();
  if (is_only_one && (repository.empty() || repository == pool.repository)) {
    peer.file = pool.repository;
    peer.is_served = true;
    return {};
  }
  if (repository.starts_with('/')) {
    peer.file = std::filesystem::path(repository).lexically_normal();
  } else if (is_only_one || repository.empty()) {
    return fail(ErrorCode::kInvalid,
                is_only_one
                    ? fmt::format("repository: [{}] serves a single file; omit repository, or "
                                  "give the path of another file",
                                  pool.name)
                    : "needs repository = NAME, the name of a repository in the pool's folder");
  } else {
    peer.file = pool.repositories / (repository + ".fossil");
  }
  const auto relative = peer.file.lexically_relative(pool.repositories).replace_extension();
  const auto name = repository::RepositoryName::parse(relative.string());
  if (!repository.starts_with('/') && !name) {
    return fail(ErrorCode::kInvalid,
                "repository: \"{}\" is not a repository name or an absolute "
                "path",
                base::printable(repository));
  }
  if (is_only_one || !name || peer.file.extension() != ".fossil") return {};
  peer.name = name->str();
  peer.is_served = true;
  return {};
}

Result<ConfiguredPeer> configured(const master::Config& config, const PeerSectionOptions& section) {
  QUARRY_TRY_ASSIGN(const master::PoolConfig* pool, pool_of(config, section.pool));
  ConfiguredPeer peer{.options = section.peer, .pool = pool->name, .file = {}, .name = {}};
  if (!pool->process.chroot.empty()) {
    return fail(ErrorCode::kInvalid,
                "repositories of [{}] cannot have peers: the programs that sync with "
                "peers are not in its chroot",
                pool->name);
  }
  QUARRY_TRY(find_repository(*pool, section.repository, peer));
  return peer;
}

}  // namespace

std::shared_ptr<master::CarriedOptions> peer_section(const std::string& name) {
  if (!name.starts_with(kPeer)) return nullptr;
  return std::make_shared<PeerSection>(name.substr(kPeer.size()));
}

std::string file_in(std::string_view url) {
  if (!PeerUrl::is_file(url)) return {};
  if (!url.starts_with("file:")) return std::string(url);
  const std::string_view file = PeerUrl::file_of(url);
  return http::form_decode_leniently(file.substr(0, file.rfind(kProgram)));
}

std::string program_in(std::string_view url) {
  const std::size_t at = url.rfind(kProgram);
  if (!url.starts_with("file:") || at == std::string_view::npos) return {};
  return http::form_decode_leniently(url.substr(at + kProgram.size()));
}

PeersReading peers_in(const master::Config& config) {
  PeersReading reading;
  std::set<std::string> names;
  std::set<std::uint32_t> numbers;
  for (const master::CarriedSection& section : config.carried) {
    if (!section.name.starts_with(kPeer)) continue;
    const auto options = master::options_in<PeerSectionOptions>(section.carried);
    auto peer = configured(config, options);
    if (peer && !names.insert(options.peer.name).second) {
      peer = fail(ErrorCode::kInvalid, "is defined twice");
    }
    if (peer) {
      peer->number = repository::number_of(peer->options.name);
      while (!numbers.insert(peer->number).second) ++peer->number;
      reading.peers.push_back(std::move(*peer));
    } else {
      reading.mistakes.push_back(
          fmt::format("{}: [{}] {}", section.place, section.name, peer.error().message));
    }
  }
  return reading;
}

}  // namespace quarry::app
