// Functions that build the texts of structural artifacts and collect them as test cases.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "structural_cases.h"

namespace quarry::artifact::test {

inline const std::string a(40, 'a');
inline const std::string b(40, 'b');
inline const std::string c64(64, 'c');
inline const std::string upper(40, 'A');
inline const std::string md5(32, '0');
inline const std::string D = "D 2020-01-02T03:04:05\n";
inline const std::string U = "U joe\n";

class Cases {
 public:
  /// Adds a valid artifact that consists of CARDS and a Z card.
  void good(StructuralType type, std::string name, const std::string& cards) {
    raw(type, std::move(name), with_end_card(cards));
  }
  void bad(std::string name, const std::string& cards) {
    raw({}, std::move(name), with_end_card(cards));
  }
  void raw(std::optional<StructuralType> type, std::string name, std::string content) {
    cases_.push_back({std::move(name), std::move(content), type});
  }
  std::vector<StructuralCase> take() { return std::move(cases_); }

 private:
  std::vector<StructuralCase> cases_;
};

inline std::string check_in(const std::string& cards) {
  return "C hello\n" + D + cards + U;
}

void add_check_ins(Cases& cases);
void add_hashes(Cases& cases);
void add_files(Cases& cases);
void add_tags(Cases& cases);
void add_clusters(Cases& cases);
void add_wiki_pages(Cases& cases);
void add_tickets(Cases& cases);
void add_attachments(Cases& cases);
void add_technotes(Cases& cases);
void add_forum_posts(Cases& cases);
void add_frames(Cases& cases);
void add_dates(Cases& cases);

}  // namespace quarry::artifact::test
