// Input: an artifact. The input is also parsed with a correct Z card, because a fuzzer cannot guess
// the MD5 hash in that card.
#include "quarry/artifact/structural.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "../unit/control_artifact.h"
#include "quarry/artifact/digest.h"
#include "require.h"

namespace base = quarry::base;
using namespace quarry::artifact;

namespace {

/// Reads every byte of TEXT. AddressSanitizer checks each access.
void touch(std::string_view text) {
  REQUIRE(std::count(text.begin(), text.end(), '\0') == 0);
}

bool has_capitals(std::string_view hash) {
  return hash.find_first_of("ABCDEF") != hash.npos;
}

/// Requires that HASH is valid. HASH can contain capital letters, which the parser accepts and
/// keeps.
void require_name(std::string_view hash) {
  std::string small(hash);
  std::ranges::replace_if(
      small, [](char c) { return c >= 'A' && c <= 'F'; }, 'a');
  REQUIRE(HashName::parse(small));
}

void require_name_or_none(std::string_view hash) {
  if (!hash.empty()) require_name(hash);
}

void require_sound_files(const Structural& artifact) {
  const FileCard* before = nullptr;
  for (const FileCard& file : artifact.files) {
    REQUIRE(is_simple_path(file.name));
    REQUIRE(file.prior.empty() || is_simple_path(file.prior));
    REQUIRE(file.permission == 0 || file.permission == 'x' || file.permission == 'l');
    REQUIRE(!file.hash.empty() || artifact.is_delta_manifest());
    require_name_or_none(file.hash);
    REQUIRE(!before || before->name < file.name);
    before = &file;
  }
}

void require_sound(const Structural& artifact) {
  REQUIRE(artifact.date || artifact.type == StructuralType::kCluster);
  require_sound_files(artifact);
  for (const std::string_view parent : artifact.parents) require_name(parent);
  for (const std::string_view member : artifact.members) require_name(member);
  for (const CherrypickCard& pick : artifact.cherrypicks) {
    require_name(pick.target);
    require_name_or_none(pick.baseline);
  }
  for (const TagCard& tag : artifact.tags) {
    REQUIRE(tag.kind == '+' || tag.kind == '-' || tag.kind == '*');
    REQUIRE(!tag.name.empty());
    touch(tag.name);
    touch(tag.value);
    require_name_or_none(tag.target);
  }
  for (const TicketField& field : artifact.ticket_fields) {
    touch(field.name);
    touch(field.value);
  }
  for (const std::string_view hash :
       {artifact.baseline, artifact.technote_id, artifact.thread_root, artifact.in_reply_to}) {
    REQUIRE(hash.empty() || hash.size() == 40 || hash.size() == 64);
  }
  for (const std::string_view text :
       {artifact.user, artifact.comment, artifact.mimetype, artifact.repository_checksum,
        artifact.wiki_title, artifact.text, artifact.ticket, artifact.thread_title}) {
    touch(text);
  }
  if (artifact.attachment) {
    REQUIRE(!artifact.attachment->name.empty() && !artifact.attachment->target.empty());
    require_name_or_none(artifact.attachment->source);
  }
}

std::string write_cluster(const Structural& artifact) {
  std::vector<HashName> members;
  for (const std::string_view member : artifact.members) {
    members.push_back(*HashName::parse(member));
  }
  return format_cluster(std::move(members));
}

std::string write_control(const Structural& artifact) {
  ControlText text{.date = *artifact.date, .user = std::string(artifact.user), .tags = {}};
  for (const TagCard& tag : artifact.tags) {
    text.tags.push_back(
        {tag.kind, std::string(tag.name), *HashName::parse(tag.target), std::string(tag.value)});
  }
  return format_control(std::move(text));
}

std::string write_check_in(const Structural& artifact) {
  CheckInText text{.comment = std::string(artifact.comment),
                   .date = *artifact.date,
                   .user = std::string(artifact.user),
                   .files = {},
                   .parents = {},
                   .repository_checksum = std::string(artifact.repository_checksum),
                   .tags = {}};
  for (const FileCard& file : artifact.files) {
    text.files.push_back({std::string(file.name), *HashName::parse(file.hash), file.permission,
                          std::string(file.prior)});
  }
  for (const std::string_view parent : artifact.parents) {
    text.parents.push_back(*HashName::parse(parent));
  }
  for (const TagCard& tag : artifact.tags) {
    if (tag.target.empty()) {
      text.tags.push_back({tag.kind, std::string(tag.name), std::string(tag.value)});
    }
  }
  return format_check_in(std::move(text));
}

bool same_file(const FileCard& a, const FileCard& b) {
  return a.name == b.name && a.hash == b.hash && a.prior == b.prior && a.permission == b.permission;
}

bool same_tag(const TagCard& a, const TagCard& b) {
  return a.kind == b.kind && a.name == b.name && a.target == b.target && a.value == b.value;
}

/// Returns whether a hash in ARTIFACT contains capital letters. Such a hash is not a valid
/// HashName, so ARTIFACT cannot be written.
bool names_in_capitals(const Structural& artifact) {
  const auto is_tags = [](const TagCard& tag) { return has_capitals(tag.target); };
  const auto is_files = [](const FileCard& file) { return has_capitals(file.hash); };
  return std::ranges::any_of(artifact.tags, is_tags) ||
         std::ranges::any_of(artifact.files, is_files) ||
         std::ranges::any_of(artifact.parents, has_capitals) ||
         std::ranges::any_of(artifact.members, has_capitals);
}

/// If ARTIFACT can be written, requires that it stays the same when it is written and parsed again.
void require_round_trip(const Structural& artifact) {
  constexpr base::UnixMillis kYearZero{-62'167'219'200'000};
  // A date before the year 0 comes from a number in a D card. Such a date cannot be written.
  if (artifact.date && *artifact.date < kYearZero) return;
  if (names_in_capitals(artifact)) return;
  std::string text;
  if (artifact.type == StructuralType::kCluster) {
    text = write_cluster(artifact);
  } else if (artifact.type == StructuralType::kControl) {
    text = write_control(artifact);
  } else if (artifact.type == StructuralType::kCheckIn && !artifact.is_delta_manifest()) {
    text = write_check_in(artifact);
  } else {
    return;
  }
  const auto again = parse_structural(text);
  REQUIRE(again);
  REQUIRE(again->type == artifact.type);
  REQUIRE(again->members == artifact.members);
  REQUIRE(again->parents == artifact.parents);
  REQUIRE(again->comment == artifact.comment);
  REQUIRE(again->date == artifact.date);
  REQUIRE(std::ranges::equal(again->files, artifact.files, same_file));
  if (artifact.type == StructuralType::kControl) {
    // The user is empty if the name begins with an escaped NUL. An empty user is written as an
    // empty U card, which the parser reads as "anonymous".
    REQUIRE(again->user == (artifact.user.empty() ? "anonymous" : artifact.user));
    REQUIRE(std::ranges::is_permutation(again->tags, artifact.tags, same_tag));
  }
}

void parse(std::string_view content) {
  auto artifact = parse_structural(content);
  if (!artifact) return;
  const Structural moved = std::move(*artifact);
  artifact.reset();
  require_sound(moved);
  require_round_trip(moved);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  parse(input);
  parse(std::string(input) + "Z " + md5_hex(input) + "\n");
  return 0;
}
