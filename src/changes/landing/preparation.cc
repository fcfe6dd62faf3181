#include "preparation.h"

#include <fmt/core.h>

#include <algorithm>
#include <ranges>
#include <set>
#include <utility>

#include "quarry/artifact/blob.h"
#include "quarry/artifact/delta.h"
#include "quarry/artifact/structural.h"

namespace quarry::changes {

using artifact::HashName;

namespace {

constexpr std::size_t kHashDigits = 10;  // as in fossil

std::string_view brief(const HashName& name) {
  return name.str().substr(0, kHashDigits);
}

Result<void> check_orders(std::span<const LandingOrder> orders) {
  std::set<ChangeSetId> ids;
  for (const LandingOrder& order : orders) {
    if (order.branch != orders.front().branch) {
      return fail(ErrorCode::kInvalid, "change sets for different branches cannot land together");
    }
    if (!ids.insert(order.id).second) {
      return fail(ErrorCode::kInvalid, "the change set {} is listed twice", order.id.str());
    }
    for (const std::string& text : {order.comment, order.author}) {
      if (text.find('\0') == std::string::npos) continue;
      return fail(ErrorCode::kInvalid,
                  "the comment or author of the change "
                  "set {} contains a NUL byte",
                  order.id.str());
    }
  }
  return {};
}

}  // namespace

std::string tag_of(const ChangeSetId& id) {
  return "cs-" + std::string(id.str());
}

Result<Prospect> Preparation::run(std::span<const LandingOrder> orders,
                                  const std::optional<repository::BranchTip>& known) {
  prospect_.branch = orders.front().branch;
  prospect_.state = repository_.state();
  QUARRY_TRY(check_orders(orders));
  const auto tip_found = begin_at(known ? Attempt<repository::BranchTip>(*known) : look_up_tip());
  if (!tip_found && !tip_found.error().is_refusal())
    return std::unexpected(LandingError(tip_found.error()).error());
  for (std::size_t i = 0; i < orders.size(); ++i) {
    QUARRY_TRY_ASSIGN(const auto before, landed(orders[i].id, orders[i].submitter));
    auto outcome = before       ? Attempt<Landed>(Landed{*before, true})
                   : !tip_found ? Attempt<Landed>(std::unexpected(tip_found.error()))
                                : make(orders[i], i);
    if (outcome) {
      prospect_.outcomes.emplace_back(*outcome);
      continue;
    }
    // Remove the new contents of the failed order, so that later orders do not use these contents.
    for (const HashName& name : fresh_) prospect_.added.erase(name);
    LandingError error = std::move(outcome).error();
    if (!error.is_refusal()) return std::unexpected(std::move(error).error());
    prospect_.outcomes.emplace_back(std::unexpected(std::move(error).refusal()));
  }
  return std::move(prospect_);
}

Attempt<repository::BranchTip> Preparation::look_up_tip() {
  const auto tip = check_ins_.tip(prospect_.branch);
  if (!tip) {
    const Error& error = tip.error();
    if (error.code == ErrorCode::kNotFound) return refuse(RefusalKind::kNoBranch, error.message);
    if (error.code == ErrorCode::kConflict) return refuse(RefusalKind::kClosed, error.message);
    return std::unexpected<LandingError>(error);
  }
  if (tip->open_leaves == 1) return *tip;
  return refuse(RefusalKind::kForked,
                fmt::format("the branch {} has forked: it has {} open leaves; merge them or close "
                            "all but one",
                            prospect_.branch, tip->open_leaves));
}

Attempt<void> Preparation::begin_at(const Attempt<repository::BranchTip>& tip) {
  if (!tip) return std::unexpected(tip.error());
  QUARRY_TRY_ASSIGN(const CheckInPtr stored, stored_.check_in(tip->name));
  prospect_.tip = parent_ = tip->name;
  prospect_.tree = stored->files;
  prospect_.date = std::max(stored->date, tip->time);
  return {};
}

Result<std::optional<HashName>> Preparation::landed(const ChangeSetId& id,
                                                    const std::string& submitter) {
  QUARRY_TRY_ASSIGN(const auto found, check_ins_.with_tag(tag_of(id), submitter));
  return found.empty() ? std::nullopt : std::optional(found.front());
}

Result<Content> Preparation::find_content(const HashName& name) {
  const auto found = prospect_.added.find(name);
  if (found != prospect_.added.end()) return found->second;
  return stored_.content(name);
}

/// Returns the check-in NAME. WHAT is its role in the change set, for error messages.
Attempt<HashName> Preparation::find_check_in(std::string_view name, std::string_view what) {
  const auto found = check_ins_.named(name);
  if (found) return *found;
  const Error& error = found.error();
  if (error.code != ErrorCode::kNotFound && error.code != ErrorCode::kInvalid) {
    return std::unexpected<LandingError>(error);
  }
  return refuse(RefusalKind::kNoBase, fmt::format("{}: {}", what, error.message));
}

Attempt<CheckInPtr> Preparation::base_of(const LandingOrder& order) {
  QUARRY_TRY_ASSIGN(const HashName name, find_check_in(order.base, "its base"));
  QUARRY_TRY_ASSIGN(CheckInPtr base, stored_.check_in(name));
  return base;
}

/// Adds to merges_ the check-ins that ORDER merges. As in fossil, omits the parent of the new
/// check-in. However, adds a backout of the parent, because the client would otherwise submit the
/// backout again with the next change set. Also omits merges that the branch or an earlier check-in
/// of the prospect already contains, because another change set might have merged them since the
/// submission.
Attempt<void> Preparation::find_merges(const LandingOrder& order) {
  for (const auto& [kind, sent] : order.merges) {
    // Look up the full hash, because a name with 40 digits can be a prefix of a longer hash.
    QUARRY_TRY_ASSIGN(const HashName check_in, find_check_in(sent.str(), "a merged check-in"));
    const MergedCheckIn merge{kind, check_in};
    const bool is_new = std::ranges::find(merges_, merge) == merges_.end();
    const bool is_parent = check_in == *parent_ && kind != MergeKind::kBackout;
    if (!is_new || is_parent) continue;
    if (kind == MergeKind::kMerge) {
      bool is_part = false;
      for (std::size_t i = 0; i <= merged_.size() && !is_part; ++i) {
        const HashName& to = i == 0 ? *prospect_.tip : merged_[i - 1];
        QUARRY_TRY_ASSIGN(is_part, check_ins_.is_ancestor(check_in, to));
      }
      if (is_part) continue;
    }
    merges_.push_back(merge);
  }
  return {};
}

/// Rolls back the change sets of ORDER, beginning with the last one. Each rollback then finds the
/// files without the changes of later change sets.
Attempt<void> Preparation::roll_back(const LandingOrder& order, TreeChange& change,
                                     MergeLabels labels) {
  for (const auto& [id, submitter] : order.rolls_back | std::views::reverse) {
    QUARRY_TRY_ASSIGN(const auto name, landed(id, submitter));
    if (!name) {
      return refuse(RefusalKind::kNotLanded,
                    fmt::format("the change set {} has not landed", id.str()));
    }
    QUARRY_TRY_ASSIGN(const CheckInPtr after, stored_.check_in(*name));
    if (after->parents.empty()) {
      return refuse(RefusalKind::kNotLanded,
                    fmt::format("the check-in {} does not have a parent", name->str()));
    }
    QUARRY_TRY_ASSIGN(const CheckInPtr before, stored_.check_in(after->parents.front()));
    labels.base = fmt::format("change set {} ({})", id.str(), brief(*name));
    labels.theirs = fmt::format("before change set {}", id.str());
    // The manifest is valid, because check_in() has parsed it.
    const auto parsed = *artifact::parse_structural(*after->manifest);
    repository::Renames renames;
    for (const artifact::FileCard& file : parsed.files) {
      if (before->files.contains(file.prior)) renames.emplace(file.prior, file.name);
    }
    QUARRY_TRY(change.roll_back(after->files, before->files, renames, labels));
    rolled_back_.push_back({id, *name, std::string(parsed.comment)});
    merges_.push_back({MergeKind::kBackout, *name});
  }
  std::ranges::reverse(rolled_back_);
  return {};
}

Attempt<void> Preparation::change_tree(const LandingOrder& order, TreeChange& change,
                                       const MergeLabels& labels) {
  if (!order.rolls_back.empty()) return roll_back(order, change, labels);
  QUARRY_TRY(find_merges(order));
  if (order.base.empty()) return change.apply(order.files, nullptr, {}, labels);
  QUARRY_TRY_ASSIGN(const CheckInPtr base, base_of(order));
  MergeLabels with_base = labels;
  with_base.base = fmt::format("base ({})", brief(base->name));
  const auto renames = [&]() -> Result<repository::Renames> {
    QUARRY_TRY_ASSIGN(auto stored, check_ins_.renames(base->name, *prospect_.tip));
    return repository::joined(std::move(stored), renames_);
  };
  return change.apply(order.files, &base->files, renames, with_base);
}

/// Returns whether an artifact can be stored as a delta on NAME. This is allowed if all clients
/// that receive the artifact also receive NAME.
bool Preparation::may_be_source(const HashName& name) {
  if (prospect_.added.contains(name)) return true;
  const auto found = repository_.find(name);
  return found && !found->is_phantom() && !repository_.is_private(found->rid) &&
         !repository_.is_shunned(name);
}

Attempt<void> Preparation::add_artifact(Prospect::CheckIn& check_in,
                                        const TreeChange::Added& added) {
  if (repository_.is_shunned(added.name)) {
    return refuse(RefusalKind::kBadFile,
                  fmt::format("artifact {} is shunned in this repository", added.name.str()));
  }
  const auto known = repository_.find(added.name);
  const bool is_there = known && !known->is_phantom() && !repository_.is_private(known->rid);
  if (is_there || !prospect_.added.emplace(added.name, added.content).second) return {};
  fresh_.push_back(added.name);
  Prospect::Artifact artifact{.name = added.name, .payload = {}, .delta_source = {}};
  // If the repository already knows the artifact, store the artifact in full and not as a delta.
  // Such an artifact is private or a phantom, and storing the full content makes a private artifact
  // public.
  if (added.prior && !known && may_be_source(*added.prior)) {
    if (const auto prior = find_content(*added.prior)) {
      std::string delta = artifact::delta_create(**prior, *added.content);
      if (delta.size() < added.content->size() / 4 * 3) {
        artifact.payload = artifact::blob_compress(delta);
        artifact.delta_source = added.prior;
      }
    }
  }
  if (!artifact.delta_source) artifact.payload = artifact::blob_compress(*added.content);
  check_in.artifacts.push_back(std::move(artifact));
  return {};
}

/// Returns the argument of the R card, or an empty string if the check-in does not get an R card.
Result<std::string> Preparation::checksum_of(const FileTree& tree) {
  if (!repository_.settings().get_bool("repo-cksum", true)) return std::string();
  auto checksum = checksum_.of(tree, [&](const HashName& name) { return find_content(name); });
  // Omit the R card if a file is missing. Such a tree cannot be checked out, so its checksum is not
  // needed.
  if (!checksum && checksum.error().code == ErrorCode::kNotFound) return std::string();
  return checksum;
}

Attempt<std::string> Preparation::manifest_of(const LandingOrder& order, const TreeChange& change) {
  const FileTree& tree = change.tree();
  artifact::CheckInText text{.comment = comment_of(order.comment, rolled_back_),
                             .date = prospect_.date,
                             .user = order.author,
                             .files = {},
                             .parents = {*parent_},
                             .cherrypicks = {},
                             .repository_checksum = {},
                             .tags = {{'+', tag_of(order.id), ""}}};
  for (const auto& [kind, check_in] : merges_) {
    if (kind == MergeKind::kMerge) {
      text.parents.push_back(check_in);
    } else {
      text.cherrypicks.push_back({kind == MergeKind::kBackout, check_in});
    }
  }
  QUARRY_TRY_ASSIGN(text.repository_checksum, checksum_of(tree));
  text.files.reserve(tree.size());
  for (const auto& [name, file] : tree) {
    const auto prior = change.prior_names().find(name);
    text.files.push_back({name, file.hash, file.permission,
                          prior == change.prior_names().end() ? std::string() : prior->second});
  }
  std::string manifest = artifact::format_check_in(std::move(text));
  const auto parsed = artifact::parse_structural(manifest);
  if (!parsed || parsed->type != artifact::StructuralType::kCheckIn ||
      parsed->files.size() != tree.size()) {
    return refuse(RefusalKind::kBadFile, "fossil would reject its manifest");
  }
  return manifest;
}

Attempt<Landed> Preparation::make(const LandingOrder& order, std::size_t number) {
  const MergeLabels labels{.base = {},
                           .ours = fmt::format("{} ({})", prospect_.branch, brief(*parent_)),
                           .theirs = fmt::format("change set {}", order.id.str())};
  const auto algorithm = repository_.settings().hash_of_own();
  TreeChange change(
      prospect_.tree, [&](const HashName& name) { return find_content(name); }, algorithm,
      repository_.options().max_artifact_size);
  rolled_back_.clear();
  merges_.clear();
  fresh_.clear();
  if (auto reason = order.objection ? order.objection() : std::nullopt) {
    return refuse(RefusalKind::kNotPermitted, std::move(*reason));
  }
  QUARRY_TRY(change_tree(order, change, labels));
  // A merge of a branch is recorded even if it does not change any file.
  QUARRY_TRY_ASSIGN(const auto added, change.finish(labels, has_branch(merges_)));

  Prospect::CheckIn check_in{.order = number,
                             .name = *parent_,
                             .artifacts = {},
                             .tag = tag_of(order.id),
                             .submitter = order.submitter,
                             .objection = order.objection,
                             .sender = {.uid = 0, .login_nonce = {}, .address = order.address}};
  if (const auto user = repository_.settings().find_user(order.submitter)) {
    check_in.sender.uid = user->uid;
  }
  for (const TreeChange::Added& each : added) QUARRY_TRY(add_artifact(check_in, each));
  const base::UnixMillis now = repository_.options().clock->now();
  prospect_.date = std::max(now, base::UnixMillis{prospect_.date.value + 1});
  QUARRY_TRY_ASSIGN(std::string manifest, manifest_of(order, change));
  check_in.name = HashName::of(algorithm, manifest);
  QUARRY_TRY(add_artifact(
      check_in,
      {check_in.name, std::make_shared<const std::string>(std::move(manifest)), parent_}));
  repository::Renames renames;
  for (const auto& [new_name, old_name] : change.prior_names()) renames.emplace(old_name, new_name);
  renames_ = repository::joined(std::move(renames_), std::move(renames));
  for (const MergedCheckIn& merge : merges_) {
    if (merge.kind == MergeKind::kMerge) merged_.push_back(merge.check_in);
  }
  prospect_.tree = std::move(change.tree());
  parent_ = check_in.name;
  prospect_.check_ins.push_back(std::move(check_in));
  return Landed{*parent_};
}

}  // namespace quarry::changes
