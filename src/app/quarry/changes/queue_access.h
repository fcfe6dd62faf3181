// Access to the queue that a command uses. The queue is local or on a server, and has the same JSON
// in both cases.
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

/// Maximum size of a rollback's tarball. This is sufficient, because the tarball does not contain
/// files.
inline constexpr std::size_t kMaxRollback = std::size_t{16} << 20;

class QueueAccess {
 public:
  virtual ~QueueAccess() = default;

  /// Returns the queue as JSON, with the change sets that WANTED selects.
  virtual Result<std::string> list(const ListArguments& wanted) = 0;
  /// Returns a change set as JSON. ID can be a prefix.
  virtual Result<std::string> show(const std::string& id) = 0;
  /// Returns a sentence that explains why a change set has to wait.
  virtual Result<std::string> why(const std::string& id) = 0;
  /// Returns all change sets that a rollback of IDS undoes.
  virtual Result<std::vector<changes::ChangeSetId>> rollback_closure(
      const std::vector<changes::ChangeSetId>& ids) = 0;
  virtual Result<void> act(changes::Action action, const std::string& id,
                           const std::string& text) = 0;
  virtual Result<void> freeze(const std::string& branch, bool is_frozen) = 0;
  /// Submits the rollback META. Returns its id.
  virtual Result<changes::ChangeSetId> submit(const changes::Meta& meta) = 0;
};

/// Opens the queue that ARGUMENTS select: a queue on a server, the queue of a local repository, or
/// by default the queue of the open check-out's repository. If the process runs as root and the
/// queue is local, the process becomes the user who owns the repository. Errors: kInvalid,
/// kNotFound, and the errors from QueueClient::open().
Result<std::unique_ptr<QueueAccess>> open_queue(const QueueArguments& arguments);

/// Opens the queue of the local repository file REPOSITORY. Errors: the same as for open_queue().
Result<std::unique_ptr<QueueAccess>> local_queue(const QueueArguments& arguments,
                                                 const std::string& repository);
/// Returns the path of the local repository for ARGUMENTS.
Result<std::string> repository_of(const QueueArguments& arguments);

}  // namespace quarry::app
