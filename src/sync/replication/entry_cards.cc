#include "entry_cards.h"

#include "cards/card_reader.h"
#include "cards/file_card.h"
#include "quarry/artifact/fossilize.h"
#include "quarry/base/number.h"

namespace quarry::sync {
namespace {

using artifact::HashName;

// Maximum length of a login, address or key.
constexpr std::size_t kMaxWord = 4096;

class EntryParser {
 public:
  explicit EntryParser(std::string_view content) : reader_(content, {}, Speaker::kHost) {}

  Result<ParsedEntry> run() {
    QUARRY_TRY_ASSIGN(const bool is_there, reader_.next());
    if (!is_there) return fail(ErrorCode::kInvalid, "it is empty");
    QUARRY_TRY(head());
    for (;;) {
      QUARRY_TRY_ASSIGN(const bool has_card, reader_.next());
      if (!has_card) return std::move(entry_);
      QUARRY_TRY(entry_.is_change ? change() : artifact());
    }
  }

 private:
  std::unexpected<Error> misplaced() const {
    return fail(ErrorCode::kInvalid, "misplaced or malformed {} card", reader_[0]);
  }

  Result<std::string> word(std::size_t index) {
    if (reader_[index].size() > kMaxWord) return misplaced();
    return reader_[index] == "-" ? std::string() : artifact::defossilize(reader_[index]);
  }

  Result<void> head() {
    entry_.is_change = reader_.type() == CardType::kChange;
    if (entry_.is_change) {
      const auto number = base::parse_number<std::int64_t>(reader_[1]);
      if (!number) return misplaced();
      entry_.number = *number;
      return {};
    }
    const auto time = base::parse_number<std::int64_t>(reader_[1]);
    if (reader_.type() != CardType::kFrom || !time) return misplaced();
    entry_.time = {*time};
    QUARRY_TRY_ASSIGN(entry_.login, word(2));
    QUARRY_TRY_ASSIGN(entry_.address, word(3));
    return {};
  }

  Result<void> artifact() {
    if (reader_.type() == CardType::kPrivate) {
      is_private_ = true;
      return {};
    }
    if (reader_.type() != CardType::kFile && reader_.type() != CardType::kCfile) return misplaced();
    QUARRY_TRY_ASSIGN(auto arrival, arrival_of(reader_, is_private_));
    entry_.items.emplace_back(std::move(arrival));
    is_private_ = false;
    return {};
  }

  Result<void> change() {
    switch (reader_.type()) {
      case CardType::kConfig: {
        auto record = repository::parse_config_record(reader_[1], reader_.payload(), true);
        if (!record) return misplaced();
        entry_.items.emplace_back(std::move(*record));
        return {};
      }
      case CardType::kUvfile: {
        QUARRY_TRY_ASSIGN(auto arrival, unversioned_arrival_of(reader_));
        entry_.items.emplace_back(std::move(arrival));
        return {};
      }
      case CardType::kRemove: {
        if (!reader_[1].starts_with('/') || reader_[2].size() > kMaxWord) return misplaced();
        entry_.items.emplace_back(
            RemovedRow{std::string(reader_[1].substr(1)), artifact::defossilize(reader_[2])});
        return {};
      }
      case CardType::kPublish:
      case CardType::kWant:
      case CardType::kDigested: {
        const auto name = HashName::parse(reader_[1]);
        if (!name) return misplaced();
        if (reader_.type() == CardType::kPublish) entry_.items.emplace_back(PublishedName{*name});
        if (reader_.type() == CardType::kWant) entry_.items.emplace_back(WantedName{*name});
        if (reader_.type() == CardType::kDigested) entry_.items.emplace_back(DigestedName{*name});
        return {};
      }
      default:
        return misplaced();
    }
  }

  CardReader reader_;
  ParsedEntry entry_;
  bool is_private_ = false;
};

}  // namespace

Result<ParsedEntry> parse_entry(std::string_view content) {
  return EntryParser(content).run();
}

}  // namespace quarry::sync
