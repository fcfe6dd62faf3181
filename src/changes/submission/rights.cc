#include "quarry/changes/rights.h"

#include <fmt/core.h>

#include <algorithm>

#include "quarry/base/escape.h"
#include "quarry/base/split.h"

namespace quarry::changes {
namespace {

constexpr std::string_view kNone = "none";
constexpr std::size_t kMaxUsers = 1'000;

constexpr std::array<std::string_view, kRights> kRightNames = {
    "submit", "emergency", "author", "approve", "rollback", "hold", "retry", "abandon", "freeze"};

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool has(std::string_view letters, char letter) {
  const auto holds = [letters](std::string_view any) {
    return letters.find_first_of(any) != std::string_view::npos;
  };
  switch (letter) {
    case 'a':
      return holds("as");
    case 'i':
      return holds("ias");
    case 'o':
      return holds("oias");
    default:
      return holds(std::string_view(&letter, 1));
  }
}

bool is_allowed(const Allowed& allowed, const Actor& actor) {
  if (std::ranges::find(allowed.users, actor.login) != allowed.users.end()) return true;
  return std::ranges::any_of(allowed.letters,
                             [&](char letter) { return has(actor.letters, letter); });
}

/// Returns the reason why ACTOR is not allowed to submit any change set of TYPE, or nullopt.
std::optional<std::string> objection_to_type(const Rights& rights, MoveType type,
                                             const Actor& actor) {
  const auto refuse_unless = [&](Right right, std::string_view what) -> std::optional<std::string> {
    if (may(rights, right, actor)) return std::nullopt;
    return not_permitted(what, right, rights);
  };
  // A rollback needs only its own right, not the right to submit.
  if (type == MoveType::kRollback) return refuse_unless(Right::kRollback, "submitting a rollback");
  if (auto refused = refuse_unless(Right::kSubmit, "submitting")) return refused;
  if (type == MoveType::kEmergency)
    return refuse_unless(Right::kEmergency, "submitting an emergency");
  return std::nullopt;
}

}  // namespace

std::string not_permitted(std::string_view what, Right right, const Rights& rights) {
  return fmt::format("not permitted: {} (changes.{} = {})", what, word_of(right),
                     rights.of(right).text());
}

std::string_view word_of(Right right) {
  return kRightNames[static_cast<std::size_t>(right)];
}

Result<Allowed> Allowed::parse(std::string_view text) {
  Allowed allowed;
  bool is_none = false;
  const auto words = base::split_words(text, " \t,");
  for (const std::string& word : words) {
    if (word == kNone) {
      is_none = true;
    } else if (word.size() == 1 && is_letter(word[0])) {
      allowed.letters += word;
    } else if (word.size() > 1 && word[0] == '@' && word.size() <= kMaxName) {
      if (allowed.users.size() == kMaxUsers) {
        return fail(ErrorCode::kLimit, "more than {} users", kMaxUsers);
      }
      allowed.users.emplace_back(word.substr(1));
    } else {
      return fail(ErrorCode::kInvalid,
                  "\"{}\" is neither a capability (one letter) nor a user (@NAME)",
                  base::printable(word));
    }
  }
  if (words.empty() || (is_none && words.size() > 1)) {
    return fail(
        ErrorCode::kInvalid,
        "expected capabilities (one letter each) and users (@NAME), or the single word \"none\"");
  }
  return allowed;
}

std::string Allowed::text() const {
  std::string text;
  for (const char letter : letters) text += fmt::format("{}{}", text.empty() ? "" : " ", letter);
  for (const std::string& user : users) {
    text += fmt::format("{}@{}", text.empty() ? "" : " ", user);
  }
  return text.empty() ? std::string(kNone) : text;
}

bool may(const Rights& rights, Right right, const Actor& actor, std::string_view submitter) {
  const bool is_own = !submitter.empty() && actor.login == submitter;
  if (right == Right::kApprove && is_own) return false;
  if (right == Right::kAbandon && is_own && is_allowed(rights.of(Right::kSubmit), actor))
    return true;
  return is_allowed(rights.of(right), actor);
}

std::optional<std::string> objection(const Rights& rights, const Meta& meta, const Actor& actor) {
  if (auto refused = objection_to_type(rights, meta.type, actor)) return refused;
  const bool is_in_name_of_other = !meta.author.empty() && meta.author != actor.login;
  if (is_in_name_of_other && !may(rights, Right::kAuthor, actor)) {
    return not_permitted("naming another author (##author)", Right::kAuthor, rights);
  }
  // Only users with the right to approve are allowed to refer to an approval.
  if (!meta.approval.empty() && !may(rights, Right::kApprove, actor)) {
    return not_permitted("giving an approval (##approval)", Right::kApprove, rights);
  }
  return std::nullopt;
}

}  // namespace quarry::changes
