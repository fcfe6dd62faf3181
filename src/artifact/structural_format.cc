#include <algorithm>
#include <tuple>

#include "quarry/artifact/digest.h"
#include "quarry/artifact/fossilize.h"
#include "quarry/artifact/structural.h"

namespace quarry::artifact {
namespace {

/// Writes cards. The caller has to add the cards in the right order.
class CardWriter {
 public:
  template <typename... Arguments>
  void card(char letter, const Arguments&... arguments) {
    begin(letter);
    (argument(arguments), ...);
    end();
  }

  void begin(char letter) { text_ += letter; }
  void argument(std::string_view argument) {
    text_ += ' ';
    text_ += argument;
  }
  void end() { text_ += '\n'; }

  /// Returns the text, including its Z card.
  std::string finish() {
    card('Z', md5_hex(text_));
    return std::move(text_);
  }

 private:
  std::string text_;
};

void write_file(CardWriter& writer, const CheckInText::File& file) {
  writer.begin('F');
  writer.argument(fossilize(file.name));
  writer.argument(file.hash.str());
  if (file.permission != 0) {
    writer.argument({&file.permission, 1});
  } else if (!file.prior.empty()) {
    writer.argument("w");  // the default; needed because another argument follows
  }
  if (!file.prior.empty()) writer.argument(fossilize(file.prior));
  writer.end();
}

}  // namespace

std::string format_cluster(std::vector<HashName> members) {
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  CardWriter writer;
  for (const HashName& member : members) writer.card('M', member.str());
  return writer.finish();
}

std::string format_check_in(CheckInText text) {
  std::ranges::sort(text.files, {}, &CheckInText::File::name);
  std::ranges::sort(text.cherrypicks, {}, [](const CheckInText::Cherrypick& pick) {
    return std::tuple<bool, std::string_view>(pick.is_backout, pick.target.str());
  });
  std::ranges::sort(text.tags, {}, [](const CheckInText::Tag& tag) {
    return std::tuple<char, std::string_view>(tag.kind, tag.name);
  });
  CardWriter writer;
  writer.card('C', fossilize(text.comment));
  writer.card('D', base::iso_millis(text.date));
  for (const CheckInText::File& file : text.files) write_file(writer, file);
  if (!text.parents.empty()) {
    writer.begin('P');
    for (const HashName& parent : text.parents) writer.argument(parent.str());
    writer.end();
  }
  for (const CheckInText::Cherrypick& pick : text.cherrypicks) {
    writer.card('Q', (pick.is_backout ? '-' : '+') + std::string(pick.target.str()));
  }
  if (!text.repository_checksum.empty()) writer.card('R', text.repository_checksum);
  for (const CheckInText::Tag& tag : text.tags) {
    writer.begin('T');
    writer.argument(tag.kind + fossilize(tag.name));
    writer.argument("*");
    if (!tag.value.empty()) writer.argument(fossilize(tag.value));
    writer.end();
  }
  writer.card('U', fossilize(text.user));
  return writer.finish();
}

}  // namespace quarry::artifact
