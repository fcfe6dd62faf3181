// Computes the check-ins for landing orders, within one snapshot.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comment.h"
#include "landing_error.h"
#include "quarry/changes/landing.h"
#include "quarry/repository/check_ins.h"
#include "stored_files.h"
#include "tree_change.h"
#include "tree_checksum.h"

namespace quarry::changes {

class Preparation {
 public:
  /// The arguments are not owned. Use inside a Snapshot of REPOSITORY.
  Preparation(repository::Repository& repository, StoredFiles& stored, TreeChecksum& checksum)
      : repository_(repository), check_ins_(repository), stored_(stored), checksum_(checksum) {}

  /// Computes the check-ins for ORDERS. KNOWN is the tip of the branch, if it is already known.
  Result<Prospect> run(std::span<const LandingOrder> orders,
                       const std::optional<repository::BranchTip>& known);

 private:
  Attempt<repository::BranchTip> look_up_tip();
  Attempt<void> begin_at(const Attempt<repository::BranchTip>& tip);
  Attempt<Landed> make(const LandingOrder& order, std::size_t number);
  Attempt<void> change_tree(const LandingOrder& order, TreeChange& change,
                            const MergeLabels& labels);
  Attempt<artifact::HashName> find_check_in(std::string_view name, std::string_view what);
  Attempt<CheckInPtr> base_of(const LandingOrder& order);
  Attempt<void> find_merges(const LandingOrder& order);
  Attempt<void> roll_back(const LandingOrder& order, TreeChange& change, MergeLabels labels);
  Attempt<void> add_artifact(Prospect::CheckIn& check_in, const TreeChange::Added& added);
  Result<std::string> checksum_of(const FileTree& tree);
  Attempt<std::string> manifest_of(const LandingOrder& order, const TreeChange& change);
  Result<Content> find_content(const artifact::HashName& name);
  Result<std::optional<artifact::HashName>> landed(const ChangeSetId& id,
                                                   const std::string& submitter);
  bool may_be_source(const artifact::HashName& name);

  repository::Repository& repository_;
  repository::CheckIns check_ins_;
  StoredFiles& stored_;
  TreeChecksum& checksum_;

  Prospect prospect_;
  std::optional<artifact::HashName> parent_;    // parent of the next check-in
  repository::Renames renames_;                 // renames in the check-ins of prospect_
  std::vector<artifact::HashName> merged_;      // check-ins that the check-ins of prospect_ merge
  std::vector<RolledBackCheckIn> rolled_back_;  // check-ins that the current check-in rolls back
  std::vector<MergedCheckIn> merges_;           // merges that the current check-in records
  std::vector<artifact::HashName> fresh_;       // artifacts that the current check-in has added
};

}  // namespace quarry::changes
