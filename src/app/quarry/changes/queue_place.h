// The queue that a command is about: here, in the folders beside its repository, or on a server. Both
// answer the same questions, with the same JSON.
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

/// Bytes of a rollback as a tarball, which has no files.
inline constexpr std::size_t kMostRollback = std::size_t{16} << 20;

class QueuePlace {
 public:
  virtual ~QueuePlace() = default;

  /// As JSON: the queue, or what is WANTED of it.
  virtual base::Result<std::string> list(const ListArguments& wanted) = 0;
  /// As JSON: one change set, named by the beginning of its id.
  virtual base::Result<std::string> show(const std::string& id) = 0;
  /// A sentence.
  virtual base::Result<std::string> why(const std::string& id) = 0;
  /// What would go with a rollback of IDS.
  virtual base::Result<std::vector<changes::ChangeSetId>> what_goes_with(
      const std::vector<changes::ChangeSetId>& ids) = 0;
  virtual base::Result<void> act(changes::Action action, const std::string& id,
                                 const std::string& text) = 0;
  virtual base::Result<void> freeze(const std::string& branch, bool is_frozen) = 0;
  /// Submits the rollback META; returns its id.
  virtual base::Result<changes::ChangeSetId> submit(const changes::Meta& meta) = 0;
};

/// That of ARGUMENTS: on a server, of a repository here, or, if they name neither, of the open
/// check-out. As root, this process becomes the owner of a repository that is here. Errors: kInvalid,
/// kNotFound; those of QueueClient::open().
base::Result<std::unique_ptr<QueuePlace>> queue_place(const QueueArguments& arguments);

/// The repository of ARGUMENTS that is here.
base::Result<std::string> repository_of(const QueueArguments& arguments);

}  // namespace quarry::app
