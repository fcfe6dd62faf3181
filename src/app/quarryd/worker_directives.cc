#include "worker_directives.h"

#include <array>
#include <vector>

#include "changes_directives.h"
#include "pages_directives.h"
#include "quarry/master/kinds.h"

namespace quarry::app {
namespace {

using master::Directive;
using master::Duration;
using master::Number;
using master::Size;
using master::Switch;
using master::Timeout;

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
    {"backoffice.longest_run", Duration(), QUARRY_FIELD(background.longest_run)},
    {"backoffice.max_children", Number<1, 1000>(), QUARRY_FIELD(background.max_children)},
    {"backoffice.max_sleepers", Number<0, 10000>(), QUARRY_FIELD(background.max_sleepers)},
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
});

}  // namespace

std::span<const Directive<worker::WorkerOptions>> worker_directives() {
  static const auto kAll = [] {
    std::vector<Directive<worker::WorkerOptions>> all(kWorkerDirectives.begin(),
                                                      kWorkerDirectives.end());
    for (const auto& each : changes_directives<worker::WorkerOptions>()) all.push_back(each);
    for (const auto& each : pages_directives<worker::WorkerOptions>()) all.push_back(each);
    return all;
  }();
  return kAll;
}

}  // namespace quarry::app
