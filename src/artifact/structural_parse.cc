#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#include "card_parser.h"
#include "hex_digest.h"
#include "quarry/artifact/structural.h"

namespace quarry::artifact {
namespace {

constexpr std::string_view kPgpMessage = "-----BEGIN PGP SIGNED MESSAGE-----";
constexpr std::string_view kSshMessage = "-----BEGIN SSH SIGNED MESSAGE-----";
// The last dash is omitted, because fossil does not compare it.
constexpr std::string_view kPgpSignature = "\n-----BEGIN PGP SIGNATURE----";
constexpr std::string_view kSshSignature = "\n-----BEGIN SSH SIGNATURE----";
// Fossil before 2.26 compares only these characters, and does not recognize SSH signatures.
constexpr std::string_view kOldSignature = "\n-----BEGIN PGP SIGNATURE";
constexpr std::size_t kShortestArtifact = 10;
constexpr std::size_t kMd5Length = 32;
constexpr std::size_t kEndCardSize = 2 + kMd5Length + 1;  // "Z " MD5 '\n'

/// Returns the text after the first empty line of TEXT, or an empty string if there is none.
std::string_view after_empty_line(std::string_view text) {
  for (std::size_t at = text.find('\n'); at != text.npos; at = text.find('\n', at + 1)) {
    std::size_t next = at + 1;
    if (next < text.size() && text[next] == '\r') ++next;
    if (next < text.size() && text[next] == '\n') return text.substr(next + 1);
  }
  return {};
}

bool begins_with_card(std::string_view text) {
  return text.size() >= kShortestArtifact && text[0] >= 'A' && text[0] <= 'Z' && text[1] == ' ';
}

/// Returns CONTENT without the OpenPGP or SSH signature around it. Returns an empty string if
/// CONTENT has a signature but does not contain a card. If IS_OLD is set, follows the rules of
/// fossil before 2.26.
std::string_view without_signature(std::string_view content, bool is_old = false) {
  static_assert(kPgpMessage.size() == kSshMessage.size());
  if (!content.starts_with(kPgpMessage) && (is_old || !content.starts_with(kSshMessage))) {
    return content;
  }
  const std::string_view body = after_empty_line(content.substr(kPgpMessage.size()));
  // Do not search for the signature in plain data, because the search can be slow.
  if (!begins_with_card(body)) return {};
  // Like fossil, use the last signature of either kind. Without a signature, END is 0, because npos
  // + 1 is 0.
  const std::size_t end =
      is_old ? body.rfind(kOldSignature) + 1
             : std::max(body.rfind(kPgpSignature) + 1, body.rfind(kSshSignature) + 1);
  return end == 0 ? body : body.substr(0, end);
}

bool has_end_card(std::string_view text) {
  if (text.size() < kEndCardSize) return false;
  const std::string_view card = text.substr(text.size() - kEndCardSize);
  return card.starts_with("Z ") && card.ends_with('\n');
}

/// Returns whether the Z card at the end of TEXT has the MD5 of the text before the card.
bool end_card_is_right(std::string_view text) {
  const std::string_view before = text.substr(0, text.size() - kEndCardSize);
  std::array<char, kMd5Length> md5;
  hex_digest(DigestKind::kMd5, before, md5.data());
  return std::memcmp(md5.data(), text.data() + before.size() + 2, kMd5Length) == 0;
}

/// Returns whether TEXT begins with a card and ends with a correct Z card. The cheapest checks come
/// first, because most artifacts are plain files, and some are large.
bool is_framed(std::string_view text) {
  return begins_with_card(text) && has_end_card(text) && end_card_is_right(text);
}

std::span<char> copy_to(Structural& artifact, std::string_view text) {
  artifact.memory = std::make_unique_for_overwrite<char[]>(text.size());
  std::memcpy(artifact.memory.get(), text.data(), text.size());
  return {artifact.memory.get(), text.size()};
}

}  // namespace

bool has_structural_frame(std::string_view content) {
  return content.ends_with('\n') &&
         (is_framed(without_signature(content)) || is_framed(without_signature(content, true)));
}

std::optional<Structural> parse_structural(std::string_view content) {
  if (!content.ends_with('\n')) return std::nullopt;
  const std::string_view text = without_signature(content);
  if (!is_framed(text)) return std::nullopt;
  std::optional<Structural> artifact(std::in_place);
  CardParser parser(copy_to(*artifact, text), *artifact);
  if (!parser.parse()) return std::nullopt;
  return artifact;
}

std::string text_without_files(std::string_view content, const Structural& artifact) {
  const std::string_view text = without_signature(content);
  if (artifact.files.empty()) return std::string(text);
  // Cut out the text from the first to the last F card in ARTIFACT. The names of files have the
  // same positions in TEXT as in ARTIFACT's copy of the text. F cards that the parser has ignored
  // can remain outside of the cut, and parse_without_files() ignores them again.
  const auto position = [&](const FileCard& file) {
    return static_cast<std::size_t>(file.name.data() - artifact.memory.get());
  };
  const std::size_t begin = position(artifact.files.front()) - std::string_view("F ").size();
  const std::size_t end = text.find('\n', position(artifact.files.back())) + 1;
  std::string rest;
  rest.reserve(begin + text.size() - end);
  rest.append(text.substr(0, begin)).append(text.substr(end));
  return rest;
}

Structural parse_without_files(std::string_view text, StructuralType type) {
  Structural artifact;
  CardParser parser(copy_to(artifact, text), artifact);
  if (!parser.parse_cards())
    throw std::logic_error("not the text of an artifact without its files");
  artifact.type = type;
  return artifact;
}

}  // namespace quarry::artifact
