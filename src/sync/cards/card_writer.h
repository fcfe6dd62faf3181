// Writes the cards of a reply into one string.
//
// Text for users is fossilized here (space becomes \s and so on); names and codes are written
// unchanged. Used by ServerSession.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "quarry/base/time.h"

namespace quarry::sync {

class CardWriter {
 public:
  /// Size of the reply so far in bytes.
  std::size_t size() const { return text_.size(); }
  std::string take() { return std::move(text_); }

  /// `pragma server-version …`: the version whose protocol this server speaks.
  void server_version();
  void igot(std::string_view name);
  /// `igot H 1`.
  void private_igot(std::string_view name);
  void gimme(std::string_view name);
  void push(std::string_view server_code, std::string_view project_code);
  void clone_seqno(std::int64_t next);
  /// Marks the next file as private.
  void private_next();
  /// `file`; SOURCE is empty, or the source if BYTES is a delta.
  void file(std::string_view name, std::string_view source, std::string_view bytes);
  /// The line of a `cfile` card; the caller appends the CSIZE bytes to payload(), then calls
  /// end_cfile().
  void cfile(std::string_view name, std::string_view source, std::uint64_t usize,
             std::uint64_t csize);
  std::string& payload() { return text_; }
  /// Reserves memory for SIZE bytes of reply.
  void reserve(std::size_t size) { text_.reserve(size); }
  void end_cfile();
  /// `pragma NAME` with WORDS unchanged.
  void pragma(std::string_view name, std::string_view words = {});
  /// `uvigot`: HASH is "-" if the file was deleted.
  void uvigot(std::string_view name, std::int64_t mtime, std::string_view hash, std::int64_t size);
  void uvfile(std::string_view name, std::int64_t mtime, std::string_view hash,
              std::string_view content);
  void uvfile_deleted(std::string_view name, std::int64_t mtime);
  /// `config NAME` with CONTENT, and a newline that its size does not include.
  void config(std::string_view name, std::string_view content);
  void message(std::string_view text);
  void error(std::string_view text);
  /// The last line of every reply.
  void timestamp(base::UnixMillis now, int errors);

 private:
  void number(std::uint64_t value);

  std::string text_;
};

}  // namespace quarry::sync
