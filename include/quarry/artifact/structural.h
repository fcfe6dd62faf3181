// Structural artifacts: the artifacts whose text has a meaning to Fossil itself (file format page
// of Fossil's documentation). One strict grammar of one-letter cards in order, ended by a Z card
// that holds the MD5 of all before it; what breaks it in any way is plain data, which is no error.
//
//   [-----BEGIN PGP SIGNED MESSAGE-----\n … \n\n]
//   CARD [' ' ARGUMENT]… '\n'         letters ascend; some cards may stand more than once
//   W ' ' SIZE '\n' SIZE bytes '\n'   the one card with more than a line
//   Z ' ' MD5 '\n'
//   [-----BEGIN PGP SIGNATURE …]
//
// The verdict is that of fossil 2.21 on every artifact but one kind: the date "now", which would
// mean another time at each reading, makes an artifact plain data here. Like fossil, the parser
// takes hash names in upper case too (they stand as they were written), takes a NUL byte between
// arguments for a space, and ends a text at an escaped NUL.
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

/// F card. `name` is a relative path that cannot climb (see is_simple_path); it need not be UTF-8.
/// `hash` is empty where a delta manifest removes the file; `prior` is the old name of a renamed
/// file, or empty. `permission` is 'x' (executable), 'l' (symbolic link) or 0.
struct FileCard {
  std::string_view name;
  std::string_view hash;
  std::string_view prior;
  char permission = 0;
};

/// T card. `target` is empty for "*", the artifact itself. A tag without value has `has_value`
/// false.
struct TagCard {
  char kind;  // '+' for this artifact alone, '*' for its descendants too, '-' to cancel
  std::string_view name;
  std::string_view target;
  std::string_view value;
  bool has_value = false;
};

/// Q card.
struct CherrypickCard {
  bool is_backout;
  std::string_view target;
  std::string_view baseline;  // empty if none
};

/// J card of a ticket change. `appends` where the name began with '+'. The name stands as it was
/// written: field names have no escapes.
struct TicketField {
  std::string_view name;
  std::string_view value;
  bool appends = false;
};

/// A card: what is attached to what. `name` is the file's name without its folders; `target` is a
/// wiki page's title, or the id of a ticket or technote.
struct AttachmentCard {
  std::string_view name;
  std::string_view target;
  std::string_view source;  // hash; empty: the attachment is removed
};

/// A parsed structural artifact. Every view points into memory that this object owns, and stays
/// valid when the object is moved. Escapes are already undone. Fields that the type does not have
/// are empty.
struct Structural {
  StructuralType type;
  std::optional<base::UnixMillis> date;  // D
  std::string_view user;                 // U
  bool has_user = false;
  std::string_view comment;  // C
  bool has_comment = false;
  std::string_view mimetype;                // N
  std::string_view baseline;                // B: this is a delta manifest on that check-in
  std::string_view repository_checksum;     // R
  std::vector<FileCard> files;              // F, in name order as the grammar demands
  std::vector<std::string_view> parents;    // P, primary first (of what is no check-in: priors)
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

  std::unique_ptr<char[]> memory;  // what the views show
};

/// CONTENT as a structural artifact, or nothing if it is plain data. Takes time linear in its size,
/// and memory of some ten times its size at worst; content that plainly is none costs no time.
std::optional<Structural> parse_structural(std::string_view content);

/// The part of CONTENT, of which parse_structural() made ARTIFACT, that says all but its files:
/// what is around the F cards and within an OpenPGP signature. A small part where an artifact is
/// large.
std::string text_without_files(std::string_view content, const Structural& artifact);

/// TEXT, which text_without_files() left of an artifact of TYPE, parsed again: the artifact without
/// its files. Throws std::logic_error for any other text.
Structural parse_without_files(std::string_view text, StructuralType type);

/// Whether NAME is a relative path as F cards have it: no empty, "." or ".." component, no '/' at
/// either end. Format functions expect their file names to be such.
bool is_simple_path(std::string_view name);

/// Whether a file of this name would be the database that fossil keeps in a check-out, or one of
/// the files that SQLite puts beside it: in any folder, in any case.
bool is_checkout_database(std::string_view name);

/// The text of a cluster of MEMBERS (at least one), sorted and freed of repetitions here.
std::string format_cluster(std::vector<HashName> members);

/// What a new check-in manifest says. Used for the initial check-in and by the change-set queue.
/// Dates are written in the years 0000 to 9999; no text may hold a NUL.
struct CheckInText {
  std::string comment;
  base::UnixMillis date;
  std::string user;
  struct File {
    std::string name;
    HashName hash;
    char permission = 0;
    std::string prior;  // empty: none
  };
  std::vector<File> files;        // names distinct; sorted here
  std::vector<HashName> parents;  // primary first
  struct Cherrypick {
    bool is_backout;
    HashName target;
  };
  std::vector<Cherrypick> cherrypicks = {};  // sorted here
  std::string repository_checksum;           // R card, empty: none
  struct Tag {
    char kind;
    std::string name;
    std::string value;  // empty: none
  };
  std::vector<Tag> tags;  // on the check-in itself; sorted here
};
/// The manifest's text, Z card included.
std::string format_check_in(CheckInText text);

/// What a new control artifact says.
struct ControlText {
  base::UnixMillis date;
  std::string user;
  struct Tag {
    char kind;
    std::string name;
    HashName target;
    std::string value;  // empty: none
  };
  std::vector<Tag> tags;  // sorted here
};
std::string format_control(ControlText text);

}  // namespace quarry::artifact
