// Rows of the derived tables that depend on the order in which artifacts are processed. Our order
// is a function of the artifacts (artifact_order.h). The order in `fossil rebuild` depends on row
// ids and on the storage of artifacts, so fossil can compute other rows from the same artifacts.
// Each row that can differ belongs to a class. quarry-protocol(7) lists the classes and the values
// that they allow: values of the artifact's own cards, or values that follow from other rows of the
// same file. Any other value is a fault.
//
// verify() uses this class after it has recomputed the tables. The tables then contain the
// recomputed rows, and the temporary tables `before_TABLE` contain the rows of the file.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "derived/checkins/file_links.h"
#include "derived/common/work.h"
#include "derived/documents/attachments.h"
#include "derived/documents/tickets.h"
#include "markup/text_links.h"

namespace quarry::repository {

/// The name of a class, for people to read; nullopt if the row must not differ.
using OrderClass = std::optional<std::string_view>;

class OrderDependence {
 public:
  explicit OrderDependence(const DerivationContext& context) : work_(context, {}, true) {}

  /// Returns the class of the rows in TABLE that have KEY (see DerivedRows::key). Call this
  /// function only for rows that differ between the file and the recomputation. Throws SqliteError.
  OrderClass class_of(std::string_view table, std::pair<std::int64_t, std::int64_t> key);

 private:
  static constexpr std::string_view kEqualTimes = "equal times";
  static constexpr std::string_view kOlderControl =
      "a control artifact older than an ancestor's card";
  static constexpr std::string_view kCloseChildren = "close children";
  static constexpr std::string_view kEdits = "edits of comment, user, date or colour";
  static constexpr std::string_view kTechnotes = "technotes";
  static constexpr std::string_view kAttachments = "attachments";
  static constexpr std::string_view kForumTitles = "forum titles";
  static constexpr std::string_view kNoBranch = "check-ins without a branch";
  static constexpr std::string_view kUnusualParents = "unusual parents";

  using TaggedArtifact = std::pair<std::int64_t, Rid>;         // tag, artifact
  using ParentList = std::vector<std::string>;                 // hashes, primary first
  using LinkedText = std::tuple<std::string, Markup, double>;  // the last is backlink.mtime
  struct TimelineRow {
    std::string type;
    std::int64_t tag;  // 0 if none
    std::optional<double> mtime, omtime;
    std::optional<std::string> user, comment, brief, euser, ecomment, bgcolor;
  };

  void prepare();
  bool has(const char* sql, std::int64_t key);
  bool is_same(std::string_view columns, std::string_view ours, std::string_view file,
               std::string_view condition, std::int64_t key);

  std::vector<ParentList> parent_lists(Rid rid);
  bool has_other_parents(Rid rid) { return cards_.contains({kTagParent, rid}); }
  std::set<Rid> possible_children(Rid rid);

  std::optional<TagEntry> tag_in_file(std::int64_t tag, Rid rid);
  Rid parent_in_file(Rid rid);
  std::vector<TagEntry> own_cards(std::int64_t tag, Rid rid);
  std::vector<TagEntry> inheritable(std::int64_t tag, Rid rid);
  OrderClass of_one_tag(std::int64_t tag, Rid rid);
  OrderClass of_tag(std::int64_t tag, Rid rid);

  std::optional<TimelineRow> event(const char* table, Rid rid);
  std::optional<TimelineRow> expected_technote(Rid rid);
  bool may_lack_event(Rid rid);
  OrderClass of_event(Rid rid);
  OrderClass of_missing_technote(Rid rid);
  OrderClass of_text(Rid rid, const TimelineRow& file, const TimelineRow& ours);
  OrderClass of_title(Rid rid, const TimelineRow& file, const TimelineRow& ours);
  OrderClass of_edit(PredefinedTag tag, Rid rid, const std::optional<std::string>& value);
  OrderClass of_time(Rid rid, const TimelineRow& file);
  std::optional<double> day_of(Rid rid);
  std::vector<Dated> close_children(Rid rid, double day);
  bool may_be_moved_to(Rid rid, double time);

  OrderClass of_parents(Rid rid, bool is_of_files);
  std::string branch_in_file(Rid rid);
  OrderClass of_leaf(Rid rid);
  OrderClass of_backlink(std::int64_t type, std::int64_t source);
  std::vector<LinkedText> comments(Rid rid);
  OrderClass of_ticket(std::int64_t tag);
  bool has_ticket_of_file(std::int64_t tag);

  Work work_;
  Events events_{work_};
  CheckinLinks checkin_links_{work_};
  Reparenting reparenting_{work_, checkin_links_};
  FileLinks file_links_{work_, reparenting_};
  Tags tags_{work_, reparenting_};
  Attachments attachments_{work_, events_};
  Tickets tickets_{work_, events_, tags_};
  bool is_prepared_ = false;
  std::map<TaggedArtifact, std::vector<TagEntry>> cards_;  // of all artifacts
  /// Check-ins whose parents are set by a tag, by each of these parents.
  std::map<Rid, std::set<Rid>> other_children_;
  std::map<TaggedArtifact, OrderClass> tag_classes_;
  std::map<std::int64_t, OrderClass> ticket_classes_;
};

}  // namespace quarry::repository
