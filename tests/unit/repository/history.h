// A random but reproducible project history: check-ins with merges, cherry-picks, renames,
// removals, delta manifests and dates that lie close together or the wrong way round, and control
// artifacts.
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
  /// that order on how it compresses them meanwhile), no test can compare with it. Three such
  /// things are made only with AMBIGUOUS:
  ///   - a check-in with several children dated less than two seconds after it (which one moves its
  ///     event.mtime?)
  ///   - links in an edited comment (is backlink.mtime the check-in's date or the edit's?)
  ///   - a propagating tag that is set on an ancestor after a descendant got its own (if fossil
  ///   looks
  ///     at the ancestor's first, it drops the descendant's as out of date)
  History(std::uint32_t seed, bool ambiguous) : random_(seed), ambiguous_(ambiguous) {}

  /// Makes COUNT check-ins and about a third as many control artifacts. The contents of all
  /// artifacts, parents before children.
  std::vector<std::string> make(int count);

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

  void settle_date(CheckIn& made, const std::vector<std::size_t>& parents);

  std::mt19937 random_;
  bool ambiguous_;
  std::vector<std::string> artifacts_;
  std::vector<CheckIn> check_ins_;
  std::map<std::string, std::size_t> by_name_;
  int contents_ = 0;
};

}  // namespace quarry::repository::test
