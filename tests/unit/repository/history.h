// A random but reproducible history of a project: check-ins with merges, cherry-picks, renames,
// removals, delta manifests, and dates that are close together or in the wrong order; control
// artifacts; wiki pages, tickets and technotes; attachments to all of these, and removals of
// attachments; and forum threads with edits and replies, some of them to posts that never arrive.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace quarry::repository::test {

class History {
 public:
  enum class Kind {
    /// A history whose tables after a rebuild do not depend on the order of processing.
    kPlain,
    /// The result of fossil's rebuild depends on that order. As above, and
    ///   - tags of one name on ancestor and descendant, by artifacts dated in any order
    ///   - cards that cancel a comment, user, colour or date, with or without a value
    ///   - links in an edited comment
    kOrdered,
    /// As above, and
    ///   - a check-in with several children dated less than two seconds after it
    ///   - a tag on a wiki page or technote, the removal of an attachment to a technote, two
    ///     versions of a technote that do not refer to each other
    kAmbiguous,
  };
  History(std::uint32_t seed, Kind kind) : random_(seed), kind_(kind) {}

  /// Creates COUNT check-ins, about a third as many control artifacts, and the same number of other
  /// artifacts. Returns the contents of all artifacts, parents before children.
  std::vector<std::string> make(int count);

  /// The date of the first check-in.
  static constexpr std::int64_t kStart = 1500000000000;

 private:
  struct File {
    std::string hash;
    std::string permission;
    friend bool operator==(const File&, const File&) = default;
  };
  struct CheckIn {
    std::string name;
    std::map<std::string, File> files;
    std::string baseline;  // hash of the last full manifest that it can refer to
    std::int64_t date;
    bool has_close_child = false;
  };

  bool is_ambiguous() const { return kind_ == Kind::kAmbiguous; }
  bool is_ordered() const { return kind_ != Kind::kPlain; }
  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint32_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  std::string add(std::string content);
  std::string finish(std::string cards);
  void change_files(CheckIn& check_in, std::map<std::string, std::string>& renamed);
  std::string file_cards(const CheckIn& check_in, const CheckIn* baseline,
                         const std::map<std::string, std::string>& renamed);
  void check_in(int number);
  void control(int number);

  // history_amends.cc
  void amend(int number);
  std::string any_card(const std::string& at, int number);

  // history_documents.cc
  void document(int number);
  void wiki_page(int number);
  void ticket_change(int number);
  void technote(int number);
  void attachment(int number);
  void forum_post(int number);
  void control_of_document(int number);
  std::string date_card(int number);
  std::string text_cards(const std::string& before_user, const std::string& text);
  std::string any_text(int number);

  void settle_date(CheckIn& made, const std::vector<std::size_t>& parents);

  std::mt19937 random_;
  Kind kind_;
  std::vector<std::string> artifacts_;
  std::vector<CheckIn> check_ins_;
  std::map<std::string, std::size_t> by_name_;
  int contents_ = 0;

  struct Post {
    std::string name;
    std::string root;  // the name of the thread's first post
    std::string in_reply_to;
  };
  std::map<std::string, std::string> pages_;      // the latest version of each, by title
  std::map<std::string, std::string> technotes_;  // the same, by id
  std::vector<Post> posts_;
};

}  // namespace quarry::repository::test
