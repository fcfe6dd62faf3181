// Access to the queue that a command works on: a local one, or one on a server. Both return the
// same JSON.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "changes_commands.h"
#include "quarry/base/result.h"
#include "quarry/changes/actions.h"
#include "quarry/changes/queue_view.h"

namespace quarry::app {

/// Maximum size of the tarball of a rollback, which contains no files.
inline constexpr std::size_t kMaxRollback = std::size_t{16} << 20;

class QueueAccess {
 public:
  virtual ~QueueAccess() = default;

  /// Returns the queue as JSON, with only the change sets that WANTED selects.
  virtual base::Result<std::string> list(const ListArguments& wanted) = 0;
  /// Returns a change set as JSON. ID may be a prefix.
  virtual base::Result<std::string> show(const std::string& id) = 0;
  /// Returns a sentence that says what a change set waits for.
  virtual base::Result<std::string> why(const std::string& id) = 0;
  /// Returns all change sets that a rollback of IDS would roll back.
  virtual base::Result<std::vector<changes::ChangeSetId>> rollback_closure(
      const std::vector<changes::ChangeSetId>& ids) = 0;
  virtual base::Result<void> act(changes::Action action, const std::string& id,
                                 const std::string& text) = 0;
  virtual base::Result<void> freeze(const std::string& branch, bool is_frozen) = 0;
  /// Submits the rollback META and returns its id.
  virtual base::Result<changes::ChangeSetId> submit(const changes::Meta& meta) = 0;
};

/// Opens the queue that ARGUMENTS name: on a server, of a local repository, or otherwise of the
/// open check-out. If the process runs as root, it changes to the user that owns a local
/// repository. Errors: kInvalid, kNotFound; those of QueueClient::open().
base::Result<std::unique_ptr<QueueAccess>> open_queue(const QueueArguments& arguments);

/// Opens the queue of the local repository file REPOSITORY. Errors: the same as those of
/// open_queue().
base::Result<std::unique_ptr<QueueAccess>> local_queue(const QueueArguments& arguments,
                                                       const std::string& repository);
/// Returns the local repository that ARGUMENTS name.
base::Result<std::string> repository_of(const QueueArguments& arguments);

}  // namespace quarry::app
