// Generates a random but reproducible history of a project. It contains check-ins, control
// artifacts, wiki pages, tickets, technotes, attachments and forum threads. Check-ins can be
// merges, cherry-picks or delta manifests, and their dates can be close together or in the wrong
// order. Some forum posts reply to posts that never arrive.
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
    /// A history for which the result of `fossil rebuild` depends on the order of processing. It
    /// contains everything in kPlain, and also:
    ///   - tags with the same name on ancestors and descendants, with dates in any order
    ///   - cards that cancel a comment, user, color or date
    ///   - links in edited comments
    kOrdered,
    /// A history that contains everything in kOrdered, and also:
    ///   - check-ins with several children that are dated less than two seconds later
    ///   - tags on wiki pages and technotes
    ///   - removals of attachments to technotes
    ///   - versions of a technote that do not refer to each other
    kAmbiguous,
  };
  History(std::uint32_t seed, Kind kind) : random_(seed), kind_(kind) {}

  /// Creates COUNT check-ins and many other artifacts. Returns the contents of all artifacts,
  /// parents before children.
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
    std::string baseline;  // the full manifest to which a delta manifest refers
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

  // Defined in history_amends.cc.
  void amend(int number);
  std::string any_card(const std::string& at, int number);

  // Defined in history_documents.cc.
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
    std::string root;  // name of the first post of the thread
    std::string in_reply_to;
  };
  std::map<std::string, std::string> pages_;      // latest version by title
  std::map<std::string, std::string> technotes_;  // latest version by id
  std::vector<Post> posts_;
};

}  // namespace quarry::repository::test
