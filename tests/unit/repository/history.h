// A random but reproducible project history: check-ins with merges, cherry-picks, renames,
// removals, delta manifests and dates that lie close together or the wrong way round, control
// artifacts, wiki pages, tickets, technotes, attachments to all of these and their removals, forum
// threads with edits and replies, some to posts that never come.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace quarry::repository::test {

class History {
 public:
  /// Where fossil's own result depends on the order in which its rebuild looks at artifacts (and
  /// that order on how it compresses them meanwhile), no test can compare with it. Such things are
  /// made only with AMBIGUOUS:
  ///   - a check-in with several children dated less than two seconds after it (which one moves its
  ///     event.mtime?)
  ///   - links in an edited comment (is backlink.mtime the check-in's date or the edit's?)
  ///   - a propagating tag that is set on an ancestor after a descendant got its own (if fossil
  ///   looks
  ///     at the ancestor's first, it drops the descendant's as out of date)
  ///   - a tag on a wiki page or technote, the removal of an attachment to a technote, two versions
  ///     of a technote of which neither names the other (a version that has an earlier one is
  ///     stored as a delta on it during the rebuild, and looked at last then; a tag that comes
  ///     first does not show, the removal is told in other words)
  History(std::uint32_t seed, bool ambiguous) : random_(seed), ambiguous_(ambiguous) {}

  /// Makes COUNT check-ins, about a third as many control artifacts and as many others. The
  /// contents of all artifacts, parents before children.
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
    std::string baseline;  // name of the last full manifest it can refer to
    std::int64_t date;
    bool has_close_child = false;
  };

  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint32_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  std::string add(std::string content);
  std::string finish(std::string cards);
  void change_files(CheckIn& check_in, std::map<std::string, std::string>& renamed);
  std::string file_cards(const CheckIn& check_in, const CheckIn* baseline,
                         const std::map<std::string, std::string>& renamed);
  void check_in(int number);
  void control(int number);

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
  bool ambiguous_;
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
