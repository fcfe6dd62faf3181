// The cards of a reply, appended to one string in the order in which they are written.
//
// Texts for people are fossilized here (space is \s and so on); names and codes are written as they
// are. Used by ServerSession.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "quarry/base/time.h"

namespace quarry::sync {

class CardWriter {
 public:
  /// What the reply has grown to, in bytes.
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
  /// The next file is private.
  void private_next();
  /// `file`; SOURCE is empty, or what the delta BYTES is on.
  void file(std::string_view name, std::string_view source, std::string_view bytes);
  /// The line of a `cfile` card; the CSIZE bytes are appended to payload() next, then end_cfile().
  void cfile(std::string_view name, std::string_view source, std::uint64_t usize,
             std::uint64_t csize);
  std::string& payload() { return text_; }
  /// Memory for SIZE bytes of reply, taken once.
  void reserve(std::size_t size) { text_.reserve(size); }
  void end_cfile();
  /// `pragma NAME` with WORDS as they are.
  void pragma(std::string_view name, std::string_view words = {});
  /// `uvigot`: HASH is "-" where the file was deleted.
  void uvigot(std::string_view name, std::int64_t mtime, std::string_view hash, std::int64_t size);
  void uvfile(std::string_view name, std::int64_t mtime, std::string_view hash,
              std::string_view content);
  void uvfile_deleted(std::string_view name, std::int64_t mtime);
  /// `config NAME` with CONTENT and the newline that its size does not count.
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
