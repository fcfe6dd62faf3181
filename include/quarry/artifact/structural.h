// Structural artifacts: artifacts whose text Fossil itself interprets (see the file format page of
// Fossil's documentation). Their text is a sequence of cards with one-letter names in a fixed
// order. The last card is a Z card with the MD5 of the text before it. Any other text is treated as
// plain data, not as an error.
//
//   [-----BEGIN PGP SIGNED MESSAGE-----\n … \n\n]     or SSH instead of PGP (since fossil 2.26)
//   CARD [' ' ARGUMENT]… '\n'         letters ascend; some cards may be repeated
//   W ' ' SIZE '\n' SIZE bytes '\n'   the only card with several lines
//   Z ' ' MD5 '\n'
//   [-----BEGIN PGP SIGNATURE …]
//
// The parser accepts the same artifacts as fossil since 2.26, with one exception: an artifact with
// the date "now" is treated as plain data, because its date changes whenever it is read. Fossil
// before 2.26 treats artifacts with an SSH signature as plain data. Like fossil, the parser also
// accepts upper-case hash names (and keeps the case), treats a NUL byte between arguments as a
// space, and ends a text at an escaped NUL.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/artifact/hash_name.h"
#include "quarry/base/time.h"

namespace quarry::artifact {

enum class StructuralType : std::uint8_t {
  kCheckIn,
  kCluster,
  kControl,
  kWiki,
  kTicketChange,
  kAttachment,
  kTechnote,
  kForumPost,
};

/// F card. `name` is a relative path without ".." (see is_simple_path). It is not necessarily
/// UTF-8. `hash` is empty if a delta manifest removes the file; `prior` is the old name of a
/// renamed file, or empty. `permission` is 'x' (executable), 'l' (symbolic link) or 0.
struct FileCard {
  std::string_view name;
  std::string_view hash;
  std::string_view prior;
  char permission = 0;
  bool operator==(const FileCard&) const = default;
};

/// T card. `target` is empty for "*", the artifact itself.
struct TagCard {
  char kind;  // '+' for the artifact only, '*' also for its descendants, '-' to cancel
  std::string_view name;
  std::string_view target;
  std::string_view value;
  bool has_value = false;
  bool operator==(const TagCard&) const = default;
};

/// Q card.
struct CherrypickCard {
  bool is_backout;
  std::string_view target;
  std::string_view baseline;  // may be empty
  bool operator==(const CherrypickCard&) const = default;
};

/// J card of a ticket change. `appends` is true if the name began with '+'. Field names are never
/// escaped, so the name is not unescaped.
struct TicketField {
  std::string_view name;
  std::string_view value;
  bool appends = false;
  bool operator==(const TicketField&) const = default;
};

/// A card. `name` is the file's name without folders; `target` is the title of a wiki page, or the
/// id of a ticket or technote.
struct AttachmentCard {
  std::string_view name;
  std::string_view target;
  std::string_view source;  // hash; empty if the attachment is removed
};

/// A parsed structural artifact. All views point into memory that this object owns. They stay valid
/// when the object is moved. Escapes are decoded. Fields that the type does not have are empty.
struct Structural {
  StructuralType type;
  std::optional<base::UnixMillis> date;  // D
  std::string_view user;                 // U
  bool has_user = false;
  std::string_view comment;  // C
  bool has_comment = false;
  std::string_view mimetype;                // N
  std::string_view baseline;                // B: in a delta manifest, the full manifest
  std::string_view repository_checksum;     // R
  std::vector<FileCard> files;              // F, sorted by name
  std::vector<std::string_view> parents;    // P: parents (primary first) or earlier versions
  std::vector<CherrypickCard> cherrypicks;  // Q
  std::vector<TagCard> tags;                // T
  std::vector<std::string_view> members;    // M
  std::string_view wiki_title;              // L
  std::string_view text;                    // W
  bool has_text = false;
  std::optional<AttachmentCard> attachment;       // A
  std::string_view ticket;                        // K
  std::vector<TicketField> ticket_fields;         // J
  std::string_view technote_id;                   // E
  std::optional<base::UnixMillis> technote_date;  // E
  std::string_view thread_root;                   // G
  std::string_view thread_title;                  // H
  std::string_view in_reply_to;                   // I

  bool is_delta_manifest() const { return type == StructuralType::kCheckIn && !baseline.empty(); }

  std::unique_ptr<char[]> memory;  // all views point into this memory
};

/// Parses CONTENT. Returns nullopt if CONTENT is plain data. The time is linear in the size of
/// CONTENT. The memory is at most about ten times the size of CONTENT. Most plain data is
/// recognized immediately.
std::optional<Structural> parse_structural(std::string_view content);

/// Returns whether CONTENT begins with a card and ends with a correct Z card. A signature around
/// CONTENT is ignored. This is true for all texts that any version of fossil accepts as an
/// artifact. It is also true for some texts that parse_structural() rejects, such as those with the
/// date "now".
bool has_structural_frame(std::string_view content);

/// Returns CONTENT without its F cards and without the signature around it. ARTIFACT must be the
/// result of parse_structural() for CONTENT. For a large artifact, the returned text is
/// usually much smaller than CONTENT.
std::string text_without_files(std::string_view content, const Structural& artifact);

/// Parses TEXT, the result of text_without_files() for an artifact of TYPE. Throws std::logic_error
/// for any other text.
Structural parse_without_files(std::string_view text, StructuralType type);

/// Returns whether NAME is a relative path without empty, "." and ".." components, and without a
/// '/' at either end. The F cards and the functions format_…() require such file names.
bool is_simple_path(std::string_view name);

/// Returns whether the last component of NAME is the name of fossil's check-out database or of a
/// file that SQLite creates next to it. Ignores case.
bool is_checkout_database(std::string_view name);

/// Returns the text of a cluster that lists MEMBERS (at least one). Sorts and deduplicates MEMBERS.
std::string format_cluster(std::vector<HashName> members);

/// The fields of a new check-in manifest. The manifest is that of an initial check-in, or of a
/// check-in that the change-set queue lands. Dates must be in the years 0000 to 9999. Texts must
/// not contain a NUL.
struct CheckInText {
  std::string comment = {};
  base::UnixMillis date;
  std::string user = {};
  struct File {
    std::string name;
    HashName hash;
    char permission = 0;
    std::string prior = {};  // may be empty
  };
  std::vector<File> files = {};        // names must be distinct; format_check_in() sorts them
  std::vector<HashName> parents = {};  // primary first
  struct Cherrypick {
    bool is_backout;
    HashName target;
  };
  std::vector<Cherrypick> cherrypicks = {};  // sorted by format_check_in()
  std::string repository_checksum = {};      // R card; may be empty
  struct Tag {
    char kind;
    std::string name;
    std::string value = {};  // may be empty
  };
  std::vector<Tag> tags = {};  // tags of the check-in itself; sorted by format_check_in()
};
/// Returns the text of the manifest, including the Z card.
std::string format_check_in(CheckInText text);

}  // namespace quarry::artifact
