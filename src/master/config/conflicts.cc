#include "conflicts.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "quarry/base/log_options.h"

namespace quarry::master {
namespace {

using base::SocketAddress;

bool has(const auto& list, auto value) {
  return std::ranges::find(list, value) != list.end();
}

bool is_any(const SocketAddress& address) {
  return address.ip() == "0.0.0.0" || address.ip() == "::";
}

/// Returns the source address of a local connection to ADDRESS.
SocketAddress source_for(const SocketAddress& address) {
  if (!is_any(address)) return address;
  return *SocketAddress::parse_ip(address.family() == AF_INET6 ? "::1" : "127.0.0.1");
}

/// Returns whether a write to PATH goes to a regular file, which might have to be created.
bool is_written_as_file(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  return !base::is_own_descriptor(path) &&
         (!std::filesystem::exists(status) || std::filesystem::is_regular_file(status));
}

bool is_same(const std::string& one, const std::string& other) {
  std::error_code error;
  return std::filesystem::path(one).lexically_normal() ==
             std::filesystem::path(other).lexically_normal() ||
         std::filesystem::equivalent(one, other, error);
}

}  // namespace

/// Returns whether ONE is a wildcard address that includes OTHER. [::] usually includes IPv4.
bool Listens::includes(const ListenEntry& one, const ListenEntry& other) {
  const bool has_both = one.address.ip() == "::" && !one.is_ipv6_only;
  return is_any(one.address) && (has_both || one.address.family() == other.address.family());
}

/// Returns whether a server cannot listen on both addresses.
bool Listens::collide(const ListenEntry& one, const ListenEntry& other) {
  if (one.address.is_unix() || other.address.is_unix()) return one.address == other.address;
  if (one.address.port() != other.address.port() || one.address.port() == 0) return false;
  return one.address.same_ip(other.address) || includes(one, other) || includes(other, one);
}

std::optional<std::string> Listens::add(const SocketAddress& address, const std::string& section,
                                        bool is_ipv6_only) {
  const ListenEntry added{address, section, is_ipv6_only};
  const auto other = std::ranges::find_if(
      entries_, [&](const ListenEntry& entry) { return collide(entry, added); });
  if (other == entries_.end()) {
    entries_.push_back(added);
    return std::nullopt;
  }
  if (other->address == address) {
    return fmt::format("[{}] and [{}] both listen on {}", other->section, section, address.str());
  }
  return fmt::format("[{}] cannot listen on {}, because [{}] listens on {}", section, address.str(),
                     other->section, other->address.str());
}

std::optional<std::string> Listens::listener_at(const std::string& path) const {
  for (const ListenEntry& entry : entries_) {
    if (entry.address.is_unix() && entry.address.path() == path) return entry.section;
  }
  return std::nullopt;
}

std::optional<std::string> WrittenFiles::add(const std::string& section,
                                             const std::string& directive,
                                             const std::string& path) {
  if (path.empty() || !is_written_as_file(path)) return std::nullopt;
  const auto other = std::ranges::find_if(files_, [&](const WrittenFile& each) {
    return each.directive != directive && is_same(each.path, path);
  });
  if (other == files_.end()) {
    files_.push_back({section, directive, path});
    return std::nullopt;
  }
  return fmt::format("{}: {} is also the {} of [{}]", directive, path, other->directive,
                     other->section);
}

bool may_connect(const base::ListenOptions& options, const Credentials& maker,
                 const Credentials& who) {
  constexpr auto kNobody = static_cast<uid_t>(-1);
  constexpr auto kNoGroup = static_cast<gid_t>(-1);
  if (who.uid == 0) return true;
  const base::AccessList& access = options.access;
  const bool is_listed = !access.empty();
  const uid_t owner = is_listed || options.owner == kNobody ? maker.uid : options.owner;
  const gid_t group = is_listed || options.group == kNoGroup ? maker.gid : options.group;
  if (who.uid == owner) return (options.mode & S_IWUSR) != 0;
  if (has(access.users, who.uid)) return true;
  std::vector<gid_t> groups = who.groups;
  groups.push_back(who.gid);
  const bool is_in_group = has(groups, group);
  const bool is_in_listed =
      std::ranges::any_of(access.groups, [&](gid_t each) { return has(groups, each); });
  if (!is_in_group && !is_in_listed) return (options.mode & S_IWOTH) != 0;
  return is_in_listed || (options.mode & S_IWGRP) != 0;
}

std::optional<std::string> why_front_is_refused(const PoolConfig& pool,
                                                const std::optional<Credentials>& run_as) {
  if (!pool.listen) return std::nullopt;
  if (pool.listen->is_unix()) {
    // With RUN_AS, the master creates the socket as root, and the front connects as RUN_AS. Without
    // RUN_AS, master and front run as the same user, which is not root. OWNER is this user.
    const Credentials master{};
    const Credentials owner{.user = "", .uid = 1, .gid = 1, .home = "", .groups = {}};
    const bool is_free = run_as ? may_connect(pool.listen_options, master, *run_as)
                                : may_connect({.mode = pool.listen_options.mode}, owner, owner);
    if (is_free) return std::nullopt;
    return fmt::format(
        "[http] {}cannot connect to the socket of [{}]: allow it with listen.acl_users, "
        "listen.group or listen.mode",
        run_as ? fmt::format("runs as {} and ", run_as->user) : "", pool.name);
  }
  const SocketAddress source = source_for(*pool.listen);
  const auto is_source = [&](const SocketAddress& each) { return each.same_ip(source); };
  const bool is_allowed = pool.allowed_clients.empty()
                              ? source.is_loopback()
                              : std::ranges::any_of(pool.allowed_clients, is_source);
  if (is_allowed) return std::nullopt;
  return fmt::format("[http] connects to [{}] from {}, which is not in listen.allowed_clients",
                     pool.name, source.ip());
}

}  // namespace quarry::master
