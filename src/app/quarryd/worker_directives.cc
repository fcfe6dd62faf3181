#include "configuration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "changes_directives.h"
#include "quarry/courier/address_rules.h"
#include "quarry/master/kinds.h"

namespace quarry::app {
namespace {

using master::Directive;
using master::Duration;
using master::Number;
using master::Path;
using master::Size;
using master::Switch;
using master::Text;
using master::Timeout;

struct PagesSource {
  static Result<void> put(pages::Source& source, const std::string& value) {
    if (value != "fossil" && value != "off") {
      return fail(ErrorCode::kInvalid, "must be fossil (pages made by the fossil program) or off");
    }
    source = value == "fossil" ? pages::Source::kFossil : pages::Source::kNone;
    return {};
  }
  static master::Shown show(pages::Source source) {
    return {source == pages::Source::kFossil ? "fossil" : "off"};
  }
};

/// Values of fossil's setting email-send-method.
struct MailMethods {
  static Result<void> put(std::vector<std::string>& methods, const std::string& value) {
    methods = master::split_list(value);
    for (const std::string& each : methods) {
      constexpr auto kMethods =
          std::to_array<std::string_view>({"relay", "pipe", "dir", "db", "off"});
      if (std::ranges::find(kMethods, each) != kMethods.end()) continue;
      return fail(ErrorCode::kInvalid, "\"{}\" is not one of relay, pipe, dir, db, off",
                  base::printable(each));
    }
    if (!methods.empty()) return {};
    return fail(ErrorCode::kInvalid, "must not be empty; to allow no method, use off");
  }
  static master::Shown show(const std::vector<std::string>& methods) {
    return {fmt::format("{}", fmt::join(methods, ", "))};
  }
};

/// A list of absolute paths, separated by commas.
struct Paths {
  static Result<void> put(std::vector<std::string>& target, const std::string& value) {
    target = master::split_list(value);
    for (const std::string& path : target) QUARRY_TRY(master::parse_path(path));
    return {};
  }
  static master::Shown show(const std::vector<std::string>& paths) {
    return master::Networks::show(paths);
  }
};

/// Addresses, networks and names of hosts.
struct AllowedReceivers {
  static Result<void> put(std::vector<std::string>& target, const std::string& value) {
    target = master::split_list(value);
    QUARRY_TRY(courier::AddressRules::parse(target));
    return {};
  }
  static master::Shown show(const std::vector<std::string>& entries) {
    return master::Networks::show(entries);
  }
};

constexpr auto kWorkerDirectives = std::to_array<Directive<worker::WorkerOptions>>({
    {"pm.max_requests", Number<>(), QUARRY_FIELD(max_requests)},
    {"repository.cache", Number<1, 1000>(), QUARRY_FIELD(cache)},
    {"repository.busy_timeout", Duration(), QUARRY_FIELD(open.busy_timeout)},
    {"repository.max_artifact_size", Size(), QUARRY_FIELD(open.max_artifact_size)},
    {"repository.content_cache", Size(), QUARRY_FIELD(open.content_cache_size)},
    {"repository.wal_size", Size(), QUARRY_FIELD(open.log_size)},
    {"backoffice", Switch(), QUARRY_FIELD(background.is_enabled)},
    {"backoffice.lease_time", Timeout(), QUARRY_FIELD(background.lease_time)},
    {"backoffice.interval", Duration(), QUARRY_FIELD(background.interval)},
    {"backoffice.compact", Switch(), QUARRY_FIELD(background.compacts)},
    {"backoffice.log", Path(), QUARRY_FIELD(background.log)},
    {"backoffice.mail_methods", MailMethods(), QUARRY_FIELD(background.mail_methods)},
    {"backoffice.longest_run", Duration(), QUARRY_FIELD(background.longest_run)},
    {"backoffice.max_children", Number<1, 1000>(), QUARRY_FIELD(background.max_children)},
    {"backoffice.max_sleepers", Number<0, 10000>(), QUARRY_FIELD(background.max_sleepers)},
    {"repository_webhooks", Switch(), QUARRY_FIELD(has_repository_webhooks)},
    {"repository_webhooks.allow", AllowedReceivers(), QUARRY_FIELD(webhooks_allow)},
    {"index", Switch(), QUARRY_FIELD(has_index)},
    {"trust_remote_user", Switch(), QUARRY_FIELD(trust_remote_user)},
    {"max_body", Size(), QUARRY_FIELD(max_body)},
    {"params_timeout", Timeout(), QUARRY_FIELD(head_timeout)},
    {"read_timeout", Timeout(), QUARRY_FIELD(read_timeout)},
    {"sync.max_body", Size(), QUARRY_FIELD(session.max_body)},
    {"sync.max_body_without_login", Size(), QUARRY_FIELD(session.max_body_without_login)},
    {"sync.max_cards", Number<1>(), QUARRY_FIELD(session.max_cards)},
    {"sync.max_artifacts", Number<1>(), QUARRY_FIELD(session.max_artifacts)},
    {"sync.max_time", Timeout(), QUARRY_FIELD(session.max_time)},
    {"sync.max_concurrent", Number<>(), QUARRY_FIELD(admission.max_concurrent)},
    {"sync.max_concurrent_per_address", Number<>(),
     QUARRY_FIELD(admission.max_concurrent_per_address)},
    {"sync.login_failures", Number<0, 1000>(), QUARRY_FIELD(admission.login_failures)},
    {"sync.max_gimme", Number<1, 100000>(), QUARRY_FIELD(session.max_gimme)},
    {"sync.refuse_own_server_code", Switch(), QUARRY_FIELD(session.refuse_own_server_code)},
    {"sync.single_login", Switch(), QUARRY_FIELD(session.single_login)},
    {"pages", PagesSource(), QUARRY_FIELD(pages.source)},
    {"pages.program", Text(), QUARRY_FIELD(pages.program)},
    {"pages.max_children", Number<1, 1000>(), QUARRY_FIELD(pages.max_children)},
    {"pages.max_children_per_address", Number<0, 1000>(),
     QUARRY_FIELD(pages.max_children_per_address)},
    {"pages.spare_children", Number<0, 1000>(), QUARRY_FIELD(pages.spare_children)},
    {"pages.max_waiting", Number<0, 10000>(), QUARRY_FIELD(pages.max_waiting)},
    {"pages.timeout", Timeout(), QUARRY_FIELD(pages.timeout)},
    {"pages.max_memory", Size(), QUARRY_FIELD(pages.max_memory)},
    {"pages.max_body", Size(), QUARRY_FIELD(pages.max_body)},
    {"pages.max_bodies", Size(), QUARRY_FIELD(pages.max_bodies)},
    {"pages.max_reply", Size(), QUARRY_FIELD(pages.max_reply)},
    {"pages.cache", Size(), QUARRY_FIELD(pages.cache)},
    {"pages.cache_ttl", Duration(), QUARRY_FIELD(pages.cache_ttl)},
    {"pages.priority", Number<0, 19>(), QUARRY_FIELD(pages.nice)},
    {"pages.confine", Switch(), QUARRY_FIELD(pages.is_confined)},
    {"pages.allow_write", Paths(), QUARRY_FIELD(pages.allow_write)},
    {"pages.allow_execute", Paths(), QUARRY_FIELD(pages.allow_execute)},
});

}  // namespace

std::span<const Directive<worker::WorkerOptions>> worker_directives() {
  static const auto kAll = [] {
    std::vector<Directive<worker::WorkerOptions>> all(kWorkerDirectives.begin(),
                                                      kWorkerDirectives.end());
    for (const auto& each : changes_directives<worker::WorkerOptions>()) all.push_back(each);
    return all;
  }();
  return kAll;
}

}  // namespace quarry::app
