// A queue in local folders.
#include <fmt/core.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/owner.h"
#include "quarry/base/file_system.h"
#include "quarry/base/time.h"
#include "quarry/changes/daemon_notes.h"
#include "quarry/changes/explanation.h"
#include "quarry/changes/frozen.h"
#include "quarry/changes/options.h"
#include "quarry/changes/triggers.h"
#include "quarry/repository/check_ins.h"
#include "quarry/repository/repository.h"
#include "queue_access.h"

namespace quarry::app {
namespace {

namespace fs = std::filesystem;

using changes::ChangeSetId;

class LocalQueue : public QueueAccess {
 public:
  LocalQueue(fs::path repository, fs::path base, std::string login)
      : repository_(std::move(repository)),
        directories_(base::FileSystem::real(), std::move(base)),
        rules_(changes::noted_rules(directories_)),
        login_(std::move(login)) {}

  Result<std::string> list(const ListArguments& wanted) override {
    changes::ViewOptions options{
        .max_waiting = wanted.limit, .max_over = wanted.limit, .branch = wanted.branch};
    const auto stages = changes::stages_named(wanted.states);
    if (!stages) return fail(ErrorCode::kInvalid, "--state: " + changes::stages_help());
    options.stages = *stages;
    if (!wanted.after.empty()) {
      options.after = changes::Bookmark::parse(wanted.after);
      if (!options.after) {
        return fail(ErrorCode::kInvalid,
                    "--after: this is not a position printed by an earlier list");
      }
    }
    QUARRY_TRY_ASSIGN(auto view, changes::view_queue(directories_, options));
    QUARRY_TRY_ASSIGN(const auto frozen, changes::frozen_branches(directories_));
    QUARRY_TRY(changes::explain(view, directories_, rules_, frozen, now()));
    const nlohmann::json branches(frozen);
    return changes::json_of(
        view, fmt::format("\"frozen\":{},",
                          branches.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
  }
  Result<std::string> show(const std::string& id) override {
    QUARRY_TRY_ASSIGN(const auto place, changes::find_one(directories_, id));
    QUARRY_TRY_ASSIGN(const auto view, changes::view_job(directories_, place));
    return changes::json_of(view, /*whole=*/true);
  }
  Result<std::string> why(const std::string& id) override {
    QUARRY_TRY_ASSIGN(const auto place, changes::find_one(directories_, id));
    return changes::why_waits(directories_, rules_, place.name.id, now());
  }
  Result<std::vector<ChangeSetId>> rollback_closure(const std::vector<ChangeSetId>& ids) override {
    // Use the highest possible limit here. The daemon applies the configured limit, which is not
    // known to this command.
    QUARRY_TRY_ASSIGN(const auto places,
                      changes::rollback_closure(directories_, ids, changes::kMaxReferences));
    std::vector<ChangeSetId> all;
    for (const changes::JobLocation& each : places) all.push_back(each.name.id);
    return all;
  }
  Result<void> act(changes::Action action, const std::string& id,
                   const std::string& text) override {
    QUARRY_TRY_ASSIGN(const auto place, changes::find_one(directories_, id));
    // Permissions are not checked, because a user who can write to these folders can do everything
    // in the queue.
    QUARRY_TRY(changes::act(directories_, place.name.id, {action, login_, text}, now(), {}));
    wake_queueing();
    return {};
  }
  Result<void> freeze(const std::string& branch, bool is_frozen) override {
    if (is_frozen) {
      QUARRY_TRY_ASSIGN(const auto repository,
                        repository::Repository::open(repository_, {.is_read_only = true}));
      QUARRY_TRY_ASSIGN(const auto snapshot, repository->snapshot());
      QUARRY_TRY(repository::CheckIns(*repository).require_branch(branch));
    }
    QUARRY_TRY(changes::set_frozen(directories_, branch, is_frozen));
    wake_queueing();
    return {};
  }
  Result<ChangeSetId> submit(const changes::Meta& meta) override {
    QUARRY_TRY_ASSIGN(const std::string tarball, packed(meta, {}, kMaxRollback));
    QUARRY_TRY_ASSIGN(const auto name,
                      changes::submit(directories_, meta.type,
                                      {.submitter = login_,
                                       .capabilities = "s",
                                       .address = "localhost",
                                       .time = now(),
                                       .is_local = true},
                                      [&](base::File& file) { return file.append(tarball); }));
    return name.id;
  }

 private:
  static base::UnixMillis now() { return base::system_clock().now(); }
  void wake_queueing() const { changes::pull(directories_.control(""), changes::Trigger::kQueue); }

  fs::path repository_;
  changes::Directories directories_;
  changes::Rules rules_;
  std::string login_;
};

/// Returns the login of the calling user, for the history.
std::string own_login() {
  // Under sudo, the calling user is the user who ran sudo.
  const char* const sudo = std::getenv("SUDO_USER");
  if (::getuid() == 0 && sudo != nullptr && *sudo != '\0') return sudo;
  const passwd* const user = ::getpwuid(::getuid());
  return user != nullptr ? user->pw_name : std::to_string(::getuid());
}

}  // namespace

Result<std::unique_ptr<QueueAccess>> local_queue(const QueueArguments& arguments,
                                                 const std::string& repository) {
  const fs::path base = arguments.folder.empty()
                            ? changes::queue_base({}, fs::absolute(repository), "")
                            : fs::path(arguments.folder);
  auto type = base::type_of_file(base / "queue");
  if (!type && type.error().code == ErrorCode::kDenied) {
    type.error().message += ": run the command as root, or as the owner of the folder";
  }
  if (!type) return std::unexpected(std::move(type).error());
  if (*type != fs::file_type::directory) {
    return fail(ErrorCode::kNotFound, "{} does not have a queue of change sets: {} does not exist",
                repository, (base / "queue").string());
  }
  const std::string login = own_login();
  QUARRY_TRY(act_as_owner_of(base));
  return std::unique_ptr<QueueAccess>(std::make_unique<LocalQueue>(repository, base, login));
}

}  // namespace quarry::app
