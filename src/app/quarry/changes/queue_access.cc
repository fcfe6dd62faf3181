#include "queue_access.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "changed_files.h"
#include "quarry/base/escape.h"
#include "quarry/base/hex.h"
#include "quarry/http/syntax.h"
#include "queue_client.h"
#include "queue_text.h"

namespace quarry::app {
namespace {

using changes::ChangeSetId;
using nlohmann::json;

/// Returns the URL path of the change set ID, relative to the queue's path.
Result<std::string> path_of(const std::string& id) {
  if (!id.empty() && id.size() <= 16 && base::is_hex(id)) return "/" + id;
  return fail(ErrorCode::kInvalid, "\"{}\" is neither a change-set id nor a prefix of an id",
              base::printable(id));
}

class ServerQueue : public QueueAccess {
 public:
  explicit ServerQueue(QueueClient client) : client_(std::move(client)) {}

  Result<std::string> list(const ListArguments& wanted) override {
    return client_.get(
        "", fmt::format("limit={}&branch={}&state={}&after={}", wanted.limit,
                        http::percent_encode(wanted.branch), http::percent_encode(wanted.states),
                        http::percent_encode(wanted.after)));
  }
  Result<std::string> show(const std::string& id) override {
    QUARRY_TRY_ASSIGN(const std::string path, path_of(id));
    return client_.get(path);
  }
  Result<std::string> why(const std::string& id) override {
    QUARRY_TRY_ASSIGN(const std::string path, path_of(id));
    QUARRY_TRY_ASSIGN(const std::string reply, client_.get(path, "ask=why"));
    QUARRY_TRY_ASSIGN(const json document, document_in(reply));
    return text_in(document, "why");
  }
  Result<std::vector<ChangeSetId>> rollback_closure(const std::vector<ChangeSetId>& ids) override {
    std::vector<ChangeSetId> all;
    std::string branch;  // on which they have landed
    for (const ChangeSetId& id : ids) {
      QUARRY_TRY_ASSIGN(const std::string reply,
                        client_.get(fmt::format("/{}", id.str()), "ask=rollback"));
      QUARRY_TRY_ASSIGN(const json document, document_in(reply));
      const auto list = document.find("rollback");
      if (list == document.end()) {
        return fail(ErrorCode::kInvalid,
                    "invalid reply from the server: no list of change sets to roll back");
      }
      for (const json& each : *list) {
        const std::string target = text_in(each, "target");
        if (text_in(each, "state") == word_of(changes::Stage::kDone)) {
          if (!branch.empty() && target != branch) {
            return fail(ErrorCode::kConflict,
                        "the change sets landed on the branches {} and {}: use one rollback per "
                        "branch, starting with the dependent change sets",
                        base::printable(branch), base::printable(target));
          }
          branch = target;
        }
        const auto gone = ChangeSetId::parse(text_in(each, "id"));
        if (gone && std::ranges::find(all, *gone) == all.end()) all.push_back(*gone);
      }
    }
    return all;
  }
  Result<void> act(changes::Action action, const std::string& id,
                   const std::string& text) override {
    QUARRY_TRY_ASSIGN(const std::string path, path_of(id));
    QUARRY_TRY(client_.post(fmt::format("{}/{}", path, word_of(action)),
                            "text=" + http::percent_encode(text), changes::kActionType, {}));
    return {};
  }
  Result<void> freeze(const std::string& branch, bool is_frozen) override {
    QUARRY_TRY(client_.post(is_frozen ? "/freeze" : "/thaw",
                            "branch=" + http::percent_encode(branch), changes::kActionType, {}));
    return {};
  }
  Result<ChangeSetId> submit(const changes::Meta& meta) override {
    QUARRY_TRY_ASSIGN(const std::string tarball, packed(meta, {}, kMaxRollback));
    return client_.submit(meta, tarball);
  }

 private:
  QueueClient client_;
};

}  // namespace

Result<std::string> repository_of(const QueueArguments& arguments) {
  if (!arguments.repository.empty()) return arguments.repository;
  QUARRY_TRY_ASSIGN(const auto checkout, checkout_at(std::filesystem::current_path()));
  if (checkout) return checkout->repository.string();
  return fail(ErrorCode::kInvalid,
              "not in an open check-out: name the repository (-R FILE) or the server (--to URL)");
}

Result<std::unique_ptr<QueueAccess>> open_queue(const QueueArguments& arguments) {
  if (!arguments.server.url.empty()) {
    QUARRY_TRY_ASSIGN(auto client, QueueClient::open(arguments.server));
    return std::unique_ptr<QueueAccess>(std::make_unique<ServerQueue>(std::move(client)));
  }
  QUARRY_TRY_ASSIGN(const std::string repository, repository_of(arguments));
  return local_queue(arguments, repository);
}

}  // namespace quarry::app
