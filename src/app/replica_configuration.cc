#include "replica_configuration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <string_view>

#include "quarry/base/escape.h"
#include "quarry/base/socket.h"
#include "quarry/master/kinds.h"

namespace quarry::app {
namespace {

using master::Directive;
using master::Duration;
using master::Number;
using master::Path;
using master::Shown;
using master::Size;
using master::Text;
using master::Timeout;

constexpr std::string_view kReplication = "replication";
constexpr std::string_view kNats = "nats://";
constexpr std::string_view kTls = "tls://";
constexpr std::size_t kMaxName = 64;

constexpr auto kAcknowledge =
    std::to_array<std::pair<std::string_view, bool>>({{"quorum", true}, {"local", false}});

/// Returns the host in URL, which begins with kNats or kTls.
std::string_view host_in(std::string_view url) {
  url.remove_prefix(url.find("://") + 3);
  if (url.starts_with('[')) return url.substr(0, url.find(']') + 1);
  return url.substr(0, url.find(':'));
}

bool is_loopback(std::string_view url) {
  const std::string_view host = host_in(url);
  const auto ip = base::SocketAddress::parse_ip(host);
  return host == "localhost" || (ip && ip->is_loopback());
}

struct Servers : Text {
  static Result<void> put(std::string& target, const std::string& value) {
    std::string joined;
    for (const std::string& url : master::split_list(value)) {
      if (!url.starts_with(kNats) && !url.starts_with(kTls)) {
        return fail(ErrorCode::kInvalid, "\"{}\" does not begin with nats:// or tls://",
                    base::printable(url));
      }
      // The message does not contain the URL, because it might contain a password.
      if (url.contains('@')) {
        return fail(ErrorCode::kInvalid,
                    "a URL must not contain a user or password; use credentials");
      }
      if (host_in(url).empty()) {
        return fail(ErrorCode::kInvalid, "\"{}\" does not contain a host", base::printable(url));
      }
      if (!joined.empty() && joined.starts_with(kTls) != url.starts_with(kTls)) {
        return fail(ErrorCode::kInvalid, "either all or none of the URLs must begin with tls://");
      }
      joined.append(joined.empty() ? "" : ",").append(url);
    }
    target = std::move(joined);
    return {};
  }
};

/// A name that can be part of a NATS subject.
struct Name : Text {
  static Result<void> put(std::string& target, const std::string& value) {
    const bool is_valid = !value.empty() && value.size() <= kMaxName &&
                          std::ranges::all_of(value, [](unsigned char c) {
                            return std::isalnum(c) != 0 || c == '-' || c == '_';
                          });
    if (!is_valid) {
      return fail(ErrorCode::kInvalid, "must have 1 to {} letters, digits, hyphens or underscores",
                  kMaxName);
    }
    target = value;
    return {};
  }
};

struct Seconds {
  static Result<void> put(std::chrono::seconds& target, const std::string& value) {
    std::chrono::milliseconds time{0};
    QUARRY_TRY(Duration::put(time, value));
    target = std::chrono::ceil<std::chrono::seconds>(time);
    return {};
  }
  static Shown show(std::chrono::seconds time) { return Duration::show(time); }
};

struct PoolNames {
  static Result<void> put(std::vector<std::string>& target, const std::string& value) {
    target = master::split_list(value);
    return {};
  }
  static Shown show(const std::vector<std::string>& names) {
    return names.empty() ? Shown() : Shown{fmt::format("{}", fmt::join(names, ", "))};
  }
};

constexpr auto kReplicaDirectives = std::to_array<Directive<ReplicaConfig>>({
    {"servers", Servers(), QUARRY_FIELD(options.stream.servers)},
    {"group", Name(), QUARRY_FIELD(options.stream.group)},
    {"host", Name(), QUARRY_FIELD(options.stream.host)},
    // NATS supports at most five replicas.
    {"replicas", Number<1, 5>(), QUARRY_FIELD(options.stream.replicas)},
    {"acknowledge", master::Choice<kAcknowledge>(), QUARRY_FIELD(options.waits_for_quorum)},
    {"acknowledge_timeout", Timeout(), QUARRY_FIELD(options.acknowledge_timeout)},
    {"credentials", Path(), QUARRY_FIELD(options.stream.credentials)},
    {"tls_ca", Path(), QUARRY_FIELD(options.stream.tls_ca)},
    {"tls_certificate", Path(), QUARRY_FIELD(options.stream.tls_certificate)},
    {"tls_key", Path(), QUARRY_FIELD(options.stream.tls_key)},
    {"keep", Seconds(), QUARRY_FIELD(options.stream.keep)},
    {"keep_size", Size(), QUARRY_FIELD(options.stream.keep_size)},
    {"pools", PoolNames(), QUARRY_FIELD(pools)},
    {"socket", Path(), QUARRY_FIELD(socket)},
    {"directory", Path(), QUARRY_FIELD(options.folder)},
});

class ReplicaSection final : public master::OptionsBy<ReplicaConfig> {
 public:
  ReplicaSection() : OptionsBy(kReplicaDirectives) {}

  Result<void> check() const override {
    const replica::StreamOptions& stream = options().options.stream;
    for (const auto& [name, value] :
         {std::pair("servers", stream.servers), std::pair("group", stream.group),
          std::pair("host", stream.host)}) {
      if (value.empty()) return fail(ErrorCode::kInvalid, "needs {}", name);
    }
    if (stream.tls_certificate.empty() != stream.tls_key.empty()) {
      return fail(ErrorCode::kInvalid, "needs both tls_certificate and tls_key, or neither");
    }
    QUARRY_TRY(base::SocketAddress::parse(options().socket));
    return check_servers(stream);
  }

 private:
  /// Users' password hashes are in the stream, so they must not cross a network in plain text.
  static Result<void> check_servers(const replica::StreamOptions& stream) {
    for (const std::string& url : master::split_list(stream.servers)) {
      if (is_loopback(url)) continue;
      if (!url.starts_with(kTls)) {
        return fail(
            ErrorCode::kInvalid,
            "servers: {} is not a loopback address: use tls://, because the stream contains "
            "the users' password hashes",
            base::printable(url));
      }
      if (stream.credentials.empty()) {
        return fail(ErrorCode::kInvalid,
                    "needs credentials, because {} is not a loopback address and the stream "
                    "contains the users' password hashes",
                    base::printable(url));
      }
    }
    return {};
  }
};

/// Reads the repositories of a pool, and ignores its other directives. Every section is read as a
/// pool at first; it is a pool if it has `listen`.
class PoolSection final : public master::CarriedOptions {
 public:
  explicit PoolSection(const std::string& name) { pool_.name = name; }

  bool is_pool() const { return has_listen_; }
  const master::PoolConfig& pool() const { return pool_; }

  bool has(std::string_view) const override { return true; }
  Result<void> set(std::string_view key, const std::string& value) override {
    const std::string named = master::with_pool_name(value, pool_.name);
    if (key == "listen") has_listen_ = true;
    if (key == "chroot") pool_.process.chroot = named;
    if (key == "repository") pool_.repository = named;
    if (key == "repositories") pool_.repositories = named;
    return {};
  }
  bool is_relative(std::string_view, std::string_view) const override { return false; }
  std::vector<master::ShownDirective> shown() const override { return {}; }

 private:
  master::PoolConfig pool_;
  bool has_listen_ = false;
};

const master::CarriedSection* section_in(const master::Config& config) {
  const auto found = std::ranges::find(config.carried, kReplication, &master::CarriedSection::name);
  return found == config.carried.end() ? nullptr : &*found;
}

/// Returns why POOL cannot be replicated together with FIRST, or "" if it can.
std::string pool_error(const master::PoolConfig& pool, const master::PoolConfig& first) {
  if (!pool.process.chroot.empty()) {
    return fmt::format("pools: [{}] has a chroot, and quarry-replica cannot enter it", pool.name);
  }
  const auto uid_of = [](const master::PoolConfig& each) {
    return each.run_as ? std::optional(each.run_as->uid) : std::nullopt;
  };
  if (uid_of(pool) == uid_of(first)) return "";
  return fmt::format(
      "pools: [{}] and [{}] have different users, {} and {}: quarry-replica needs "
      "one user for all of them",
      first.name, pool.name, first.user, pool.user);
}

}  // namespace

std::shared_ptr<master::CarriedOptions> replica_section(const std::string& name) {
  return name == kReplication ? std::make_shared<ReplicaSection>() : nullptr;
}

bool is_replicated(const ReplicaConfig& config, const master::PoolConfig& pool) {
  if (config.pools.empty()) return pool.process.chroot.empty();
  return std::ranges::find(config.pools, pool.name) != config.pools.end();
}

std::optional<ReplicaConfig> replica_config_in(const master::Config& config) {
  const master::CarriedSection* section = section_in(config);
  if (section == nullptr) return std::nullopt;
  auto found = master::options_in<ReplicaConfig>(section->carried);
  for (const master::PoolConfig& pool : config.pools) {
    if (!is_replicated(found, pool)) continue;
    found.runs_as = pool.run_as;
    const bool is_folder = pool.repository.empty();
    found.options.pools.push_back(
        {pool.name, is_folder ? pool.repositories : pool.repository, is_folder});
  }
  return found;
}

std::vector<std::string> replica_mistakes(const master::Config& config) {
  const auto replica = replica_config_in(config);
  if (!replica) return {};
  std::vector<std::string> errors;
  for (const std::string& name : replica->pools) {
    if (std::ranges::find(config.pools, name, &master::PoolConfig::name) != config.pools.end()) {
      continue;
    }
    errors.push_back(fmt::format("pools: [{}] does not exist", base::printable(name)));
  }
  const master::PoolConfig* first = nullptr;
  for (const master::PoolConfig& pool : config.pools) {
    if (!is_replicated(*replica, pool)) continue;
    if (first == nullptr) first = &pool;
    if (auto error = pool_error(pool, *first); !error.empty()) errors.push_back(std::move(error));
  }
  if (errors.empty() && first == nullptr) errors.emplace_back("all pools have a chroot");
  const master::CarriedSection& section = *section_in(config);
  const std::string place = master::place_of(section.places, "pools");
  for (std::string& each : errors) {
    each = fmt::format("{}: [replication] {}", place.empty() ? section.place : place, each);
  }
  return errors;
}

ReplicaReading read_replica_config(const std::filesystem::path& path) {
  master::ReadingOptions options;
  options.carried_section = [](const std::string& name) {
    auto section = replica_section(name);
    const bool is_of_master = name == "global" || name == "http";
    return section || is_of_master ? section : std::make_shared<PoolSection>(name);
  };
  options.carried_sections_alone = true;
  master::ConfigReading reading = master::read_config(path, options);
  for (const master::CarriedSection& each : reading.config.carried) {
    const auto* section = dynamic_cast<const PoolSection*>(each.carried.get());
    if (section != nullptr && section->is_pool()) reading.config.pools.push_back(section->pool());
  }
  if (!reading.mistakes.empty()) return {{}, std::move(reading.mistakes)};
  auto config = replica_config_in(reading.config);
  if (!config) return {{}, {fmt::format("{}: no [replication] section", path.string())}};
  return {*std::move(config), replica_mistakes(reading.config)};
}

}  // namespace quarry::app
