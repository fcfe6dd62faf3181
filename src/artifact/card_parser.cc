#include "card_parser.h"

#include <algorithm>
#include <array>

#include "card_checks.h"
#include "quarry/artifact/fossilize.h"
#include "quarry/base/hex.h"

namespace quarry::artifact {
namespace {

constexpr std::uint32_t letter_bit(char letter) {
  return std::uint32_t{1} << (letter - 'A');
}

consteval std::uint32_t letters(std::string_view set) {
  std::uint32_t bits = 0;
  for (const char letter : set) bits |= letter_bit(letter);
  return bits;
}

struct TypeRule {
  StructuralType type;
  std::uint32_t marks;  // cards that only artifacts of this type have
  std::uint32_t allowed;
  std::uint32_t required;
};

// C and U cards are not required, because check-ins of old projects can lack a comment or a user.
constexpr TypeRule kCheckInRule{StructuralType::kCheckIn, letters("BCFQR"), letters("BCDFNPQRTUZ"),
                                letters("DZ")};
constexpr TypeRule kControlRule{StructuralType::kControl, 0, letters("DTUZ"), letters("DTUZ")};

// Some cards mark an artifact's type. The first rule with such a card determines the type. Without
// such a card, an artifact with parents is a check-in, and any other a control artifact.
constexpr std::array<TypeRule, 7> kTypeRules{{
    {StructuralType::kAttachment, letters("A"), letters("ACDNUZ"), letters("ADZ")},
    {StructuralType::kTechnote, letters("E"), letters("CDENPTUWZ"), letters("DEWZ")},
    {StructuralType::kForumPost, letters("GHI"), letters("DGHINPUWZ"), letters("DUWZ")},
    {StructuralType::kTicketChange, letters("JK"), letters("DJKUZ"), letters("DJKUZ")},
    {StructuralType::kWiki, letters("L"), letters("CDLNPUWZ"), letters("DLUWZ")},
    {StructuralType::kCluster, letters("M"), letters("MZ"), letters("MZ")},
    kCheckInRule,
}};

// Cards that are allowed more than once. As in fossil, even the Z card is one of them.
constexpr std::uint32_t kRepeatable = letters("FJMPQTZ");

/// Returns ARGUMENT with its escapes decoded. An escaped NUL ends the result, as in fossil.
std::string_view unescape(Argument argument) {
  const std::string_view raw = view(argument);
  if (raw.find('\\') == raw.npos) return raw;
  const std::size_t size = defossilize_in_place(argument.data(), argument.size());
  const std::string_view text = raw.substr(0, size);
  return text.substr(0, text.find('\0'));
}

/// Returns the kind and name of TAG as they are written in the card.
std::string_view tag_key(const TagCard& tag) {
  return {tag.name.data() - 1, tag.name.size() + 1};
}

}  // namespace

bool CardParser::parse_cards() {
  char previous = 'A';
  while (const auto letter = text_.next_card()) {
    if (*letter > 'Z' || !may_follow(previous, *letter)) return false;
    const bool repeated = (seen_ & letter_bit(*letter)) != 0;
    if (repeated && (kRepeatable & letter_bit(*letter)) == 0) return false;
    seen_ |= letter_bit(*letter);
    if (!parse_card(*letter) || !text_.at_end_of_card()) return false;
    previous = *letter;
  }
  return text_.finished();
}

/// Returns whether a card LETTER is allowed after a card PREVIOUS. Letters never descend, except in
/// old technotes, in which the P card comes first.
bool CardParser::may_follow(char previous, char letter) const {
  if (letter >= previous) return true;
  return letter == 'N' && previous == 'P' && (seen_ & letter_bit('E')) != 0;
}

bool CardParser::parse_card(char letter) {
  switch (letter) {
    case 'A':
      return attachment();
    case 'B':
      return one_hash(out_.baseline);
    case 'C':
      out_.has_comment = true;
      return one_text(out_.comment);
    case 'D':
      return date();
    case 'E':
      return technote();
    case 'F':
      return file();
    case 'G':
      return one_hash(out_.thread_root);
    case 'H':
      return one_text(out_.thread_title);
    case 'I':
      return one_hash(out_.in_reply_to);
    case 'J':
      return ticket_field();
    case 'K':
      return ticket();
    case 'L':
      return one_text(out_.wiki_title) && is_wiki_title(out_.wiki_title);
    case 'M':
      return member();
    case 'N':
      return one_text(out_.mimetype);
    case 'P':
      return parents();
    case 'Q':
      return cherrypick();
    case 'R':
      return one_md5(out_.repository_checksum);
    case 'T':
      return tag();
    case 'U':
      return user();
    case 'W':
      return text();
    case 'Z': {
      std::string_view checked_before;
      return one_md5(checked_before);
    }
    default:
      return false;
  }
}

bool CardParser::attachment() {
  const auto name = text_.next_argument();
  const auto target = text_.next_argument();
  const auto source = text_.next_argument();
  if (!name || !target) return false;
  AttachmentCard card;
  card.name = unescape(*name);
  if (!is_simple_path(card.name)) return false;
  card.name.remove_prefix(card.name.rfind('/') + 1);  // without a slash: npos + 1 is 0
  card.target = unescape(*target);
  if (!is_wiki_title(card.target)) return false;
  if (source && !accept_hash(*source, card.source)) return false;
  out_.attachment = card;
  return true;
}

bool CardParser::date() {
  const auto argument = text_.next_argument();
  if (argument) out_.date = parse_card_date(view(*argument));
  return out_.date.has_value();
}

bool CardParser::technote() {
  const auto date = text_.next_argument();
  const auto id = text_.next_argument();
  if (!date || !id || !is_hash(view(*id))) return false;
  out_.technote_date = parse_card_date(view(*date));
  out_.technote_id = view(*id);
  return out_.technote_date.has_value();
}

bool CardParser::file() {
  // In most projects, an F card is about 60 bytes long, so the reserved memory is usually
  // sufficient.
  if (out_.files.empty()) out_.files.reserve(size_ / 64);
  FileCard card;
  if (!read_file(card)) return false;
  if (!out_.files.empty() && out_.files.back().name >= card.name) return false;
  // Ignore checkout databases, which old versions of fossil allowed in check-ins. Ignored cards are
  // not included in the check of the sort order.
  if (!is_checkout_database(card.name)) out_.files.push_back(card);
  return true;
}

bool CardParser::read_file(FileCard& card) {
  const auto name = text_.next_argument();
  if (!name) return false;
  card.name = unescape(*name);
  if (!is_simple_path(card.name)) return false;
  const auto hash = text_.next_argument();
  if (!hash) return !out_.baseline.empty();
  if (!accept_hash(*hash, card.hash)) return false;
  if (const auto permission = text_.next_argument()) {
    const std::string_view letters = view(*permission);
    card.permission = letters.find('x') != letters.npos   ? 'x'
                      : letters.find('l') != letters.npos ? 'l'
                                                          : '\0';
  }
  if (const auto prior = text_.next_argument()) {
    card.prior = unescape(*prior);
    if (!is_simple_path(card.prior)) return false;
  }
  return true;
}

bool CardParser::ticket_field() {
  const auto name = text_.next_argument();
  const auto value = text_.next_argument();
  if (!name) return false;
  TicketField field;
  field.appends = view(*name).starts_with('+');
  field.name = view(*name).substr(field.appends ? 1 : 0);
  if (value) field.value = unescape(*value);
  if (!out_.ticket_fields.empty()) {
    const TicketField& before = out_.ticket_fields.back();
    // The fields must be sorted by their names as written, including a leading '+'.
    const std::size_t sign = before.appends ? 1 : 0;
    const std::string_view key(before.name.data() - sign, before.name.size() + sign);
    if (key >= view(*name)) return false;
  }
  out_.ticket_fields.push_back(field);
  return true;
}

bool CardParser::ticket() {
  const auto id = text_.next_argument();
  if (!id || id->size() != 40 || !base::is_hex(view(*id))) return false;
  out_.ticket = view(*id);
  return true;
}

bool CardParser::member() {
  std::string_view hash;
  if (!one_hash(hash)) return false;
  if (!out_.members.empty() && out_.members.back() >= hash) return false;
  out_.members.push_back(hash);
  return true;
}

bool CardParser::parents() {
  while (const auto argument = text_.next_argument()) {
    if (!accept_hash(*argument, out_.parents.emplace_back())) return false;
  }
  return true;  // the first check-in of an old repository has an empty P card
}

bool CardParser::cherrypick() {
  const auto target = text_.next_argument();
  const auto baseline = text_.next_argument();
  if (!target || target->empty()) return false;
  const char sign = target->front();
  if (sign != '+' && sign != '-') return false;
  CherrypickCard card{.is_backout = sign == '-', .target = {}, .baseline = {}};
  if (!accept_hash(target->subspan(1), card.target)) return false;
  if (baseline && !accept_hash(*baseline, card.baseline)) return false;
  out_.cherrypicks.push_back(card);
  return true;
}

bool CardParser::tag() {
  const auto name = text_.next_argument();
  const auto target = text_.next_argument();
  const auto value = text_.next_argument();
  if (!name || !target) return false;
  const std::string_view key = unescape(*name);
  if (key.empty() || (key[0] != '+' && key[0] != '-' && key[0] != '*')) return false;
  // Reject an empty name, and names that look like a hash.
  if (base::is_hex(key.substr(1))) return false;
  TagCard card{.kind = key[0], .name = key.substr(1), .target = {}, .value = {}};
  const bool is_technote = !out_.technote_id.empty();
  if (view(*target) == "*") {
    has_self_tag_ = true;
    if (is_technote && card.kind != '+') return false;
  } else if (is_technote || !accept_hash(*target, card.target)) {
    return false;
  }
  if (value) {
    card.value = unescape(*value);
    card.has_value = true;
  }
  out_.tags.push_back(card);
  return tags_ascend();
}

/// Returns whether the last two tags are sorted by kind and name, then by target.
bool CardParser::tags_ascend() const {
  if (out_.tags.size() < 2) return true;
  const TagCard& before = out_.tags[out_.tags.size() - 2];
  const TagCard& last = out_.tags.back();
  const int order = tag_key(before).compare(tag_key(last));
  return order < 0 || (order == 0 && before.target < last.target);
}

bool CardParser::user() {
  out_.has_user = true;
  const auto argument = text_.next_argument();
  out_.user = argument && !argument->empty() ? unescape(*argument) : "anonymous";
  return true;
}

bool CardParser::text() {
  const auto argument = text_.next_argument();
  if (!argument) return false;
  // The size is the number at the beginning of the argument. As in fossil, an overflow is an error
  // only if it makes the number smaller.
  std::uint32_t size = 0;
  for (const char c : *argument) {
    if (c < '0' || c > '9') break;
    const std::uint32_t longer = size * 10 + static_cast<std::uint32_t>(c - '0');
    if (longer < size) return false;
    size = longer;
  }
  const auto lines = text_.take_lines(size);
  if (!lines) return false;
  out_.text = view(*lines).substr(0, view(*lines).find('\0'));
  out_.has_text = true;
  return true;
}

bool CardParser::one_hash(std::string_view& field) {
  const auto argument = text_.next_argument();
  return argument && accept_hash(*argument, field);
}

bool CardParser::one_md5(std::string_view& field) {
  const auto argument = text_.next_argument();
  if (!argument || argument->size() != 32 || !base::is_hex(view(*argument))) return false;
  field = view(*argument);
  return true;
}

bool CardParser::one_text(std::string_view& field) {
  const auto argument = text_.next_argument();
  if (!argument) return false;
  field = unescape(*argument);
  return true;
}

bool CardParser::accept_hash(Argument argument, std::string_view& field) {
  field = view(argument);
  return is_hash(field);
}

/// Determines the type, and checks required and forbidden cards.
bool CardParser::find_type() {
  // Ignored F cards do not make the artifact a check-in.
  const std::uint32_t marks = out_.files.empty() ? seen_ & ~letters("F") : seen_;
  const TypeRule* rule = std::find_if(kTypeRules.begin(), kTypeRules.end(),
                                      [&](const auto& each) { return (marks & each.marks) != 0; });
  if (rule == kTypeRules.end()) rule = out_.parents.empty() ? &kControlRule : &kCheckInRule;
  out_.type = rule->type;
  if ((seen_ & ~rule->allowed) != 0 || (rule->required & ~seen_) != 0) return false;
  switch (rule->type) {
    case StructuralType::kForumPost:
      return out_.parents.size() <= 1 && (seen_ & letters("HI")) != letters("HI");
    case StructuralType::kControl:
      return !has_self_tag_;
    default:
      return true;
  }
}

}  // namespace quarry::artifact
