#include "client_reply.h"

#include <algorithm>
#include <utility>

#include "cards/file_card.h"
#include "quarry/artifact/fossilize.h"
#include "quarry/base/escape.h"
#include "quarry/base/number.h"
#include "quarry/http/syntax.h"

namespace quarry::sync {
namespace {

using artifact::HashName;

// Maximum length of a message to the user, in bytes.
constexpr std::size_t kMaxText = 1000;

/// TOKEN is text from a server. Returns the text in a form that is safe for a terminal.
std::string printable_text(std::string_view token) {
  return base::printable(artifact::defossilize(token), kMaxText);
}

/// Returns whether TEXT is acceptable as this project's code. Fossil itself creates codes of 40 hex
/// digits.
bool is_project_code(std::string_view text) {
  const auto is_plain = [](char c) { return http::is_letter_or_digit(c) || c == '-' || c == '_'; };
  return text.size() >= 4 && text.size() <= 100 && std::ranges::all_of(text, is_plain);
}

}  // namespace

Result<void> ClientReply::read(std::string_view cards) {
  reader_ = CardReader(cards, {.max_cards = SIZE_MAX}, Speaker::kServer);
  while (true) {
    QUARRY_TRY_ASSIGN(const bool more, reader_.next());
    if (!more) break;
    if (reader_.type() == CardType::kError) {
      error_ = printable_text(reader_[1]);
      // Roll back the transaction, unless it has stored the project code: after a refused clone,
      // the session needs this code to log in.
      if (!received_project_code_) receipt_.reset();
      break;
    }
    QUARRY_TRY(handle());
  }
  return finish();
}

Result<void> ClientReply::handle() {
  switch (reader_.type()) {
    case CardType::kFile:
    case CardType::kCfile:
      return file();
    case CardType::kIgot:
      return igot();
    case CardType::kGimme:
      return gimme();
    case CardType::kPrivate:
      next_is_private_ = true;
      return {};
    case CardType::kPush:
      return push();
    case CardType::kCloneSeqno:
      return clone_seqno();
    case CardType::kMessage:
      message();
      return {};
    case CardType::kCookie: {
      QUARRY_TRY_ASSIGN(repository::Receipt* const receipt, this->receipt());
      return receipt->set_config("cookie", reader_[1]);
    }
    case CardType::kConfig:
      return config();
    case CardType::kPragma:
      c_.unversioned.pragma(reader_);
      return {};
    case CardType::kUvigot:
      return c_.unversioned.igot(reader_);
    case CardType::kUvfile:
      return c_.unversioned.file(reader_, [this] { return receipt(); });
    default:  // the reader does not return other types
      return {};
  }
}

Result<repository::Receipt*> ClientReply::receipt() {
  if (!receipt_) {
    auto begun = c_.repository.receive();
    if (!begun) return std::unexpected(std::move(begun).error());
    receipt_.emplace(std::move(*begun));
    receipt_->set_sender(c_.sender);
  }
  return &*receipt_;
}

Result<void> ClientReply::file() {
  const bool is_private = std::exchange(next_is_private_, false);
  QUARRY_TRY_ASSIGN(const repository::Arrival arrival, arrival_of(reader_, is_private));
  if (!takes() || c_.repository.settings().shuns_hash_of(arrival.name) ||
      (is_private && !c_.options.with_private))
    return {};
  QUARRY_TRY_ASSIGN(repository::Receipt* const receipt, this->receipt());
  QUARRY_TRY_ASSIGN(const bool is_new,
                    c_.is_cloning ? receipt->keep(arrival) : receipt->store(arrival));
  // A clone does not need these records, because it neither requests artifacts by name nor pushes.
  if (!c_.is_cloning) {
    c_.offer.has(arrival.name);
    c_.wants.came(arrival.name);
  }
  if (is_new) ++received_;
  return {};
}

Result<void> ClientReply::igot() {
  const auto name = HashName::parse(reader_[1]);
  if (!name) return std::unexpected(reader_.misshapen());
  const bool is_private = reader_[2] == "1";
  c_.offer.has(*name);
  // Expect a private artifact only in a private session, because the server does not send it
  // otherwise.
  if (!is_private || c_.options.with_private) c_.wants.promised(*name);
  const auto known = c_.repository.find(*name);
  if (known) {
    if (c_.repository.is_private(known->rid) == is_private) return {};
    if (is_private && !known->is_phantom()) return {};
    QUARRY_TRY_ASSIGN(repository::Receipt* const receipt, this->receipt());
    return receipt->set_private(*name, is_private);
  }
  if (!takes() || (is_private && !c_.options.with_private)) return {};
  if (c_.repository.settings().shuns_hash_of(*name) || c_.repository.is_shunned(*name)) return {};
  QUARRY_TRY_ASSIGN(repository::Receipt* const receipt, this->receipt());
  return receipt->add_phantom(*name, is_private);
}

Result<void> ClientReply::gimme() {
  const auto name = HashName::parse(reader_[1]);
  if (!name) return std::unexpected(reader_.misshapen());
  if (c_.options.push) c_.offer.asked_for(*name);
  return {};
}

Result<void> ClientReply::push() {
  const std::string_view code = reader_[2];
  if (c_.repository.settings().project_code() == code) return {};
  if (!c_.repository.settings().project_code().empty()) {
    return fail(ErrorCode::kInvalid, "wrong project: the server has another project code");
  }
  if (!c_.options.clone || !is_project_code(code)) {
    return fail(ErrorCode::kInvalid, "the server sent an invalid project code");
  }
  QUARRY_TRY_ASSIGN(repository::Receipt* const receipt, this->receipt());
  QUARRY_TRY(receipt->set_config("project-code", code));
  received_project_code_ = true;
  return {};
}

Result<void> ClientReply::clone_seqno() {
  clone_next_ = base::parse_number<std::uint64_t>(reader_[1]);
  if (!clone_next_) return std::unexpected(reader_.misshapen());
  return {};
}

/// Stores a row of the configuration, if it was requested.
Result<void> ClientReply::config() {
  if (!c_.takes_settings) return {};
  const auto record = repository::parse_config_record(reader_[1], reader_.payload());
  if (!record) return {};
  if (record->table == "config" && repository::areas_of_setting(record->key) == 0) return {};
  QUARRY_TRY_ASSIGN(repository::Receipt* const receipt, this->receipt());
  QUARRY_TRY(receipt->merge_config(*record));
  return {};
}

void ClientReply::message() {
  std::string text = printable_text(reader_[1]);
  if (text.starts_with("pull only")) refuses_push_ = true;
  messages_.push_back(std::move(text));
}

Result<void> ClientReply::finish() {
  if (!error_) QUARRY_TRY(c_.unversioned.finish_reply([this] { return receipt(); }));
  if (!error_ && !c_.offer.sent_of_unsent().empty() && !refuses_push_) {
    QUARRY_TRY_ASSIGN(repository::Receipt* const receipt, this->receipt());
    QUARRY_TRY(receipt->forget_unsent(c_.offer.sent_of_unsent()));
  }
  c_.offer.accepted();
  if (!receipt_) return {};
  QUARRY_TRY(receipt_->commit());
  receipt_.reset();
  return {};
}

}  // namespace quarry::sync
