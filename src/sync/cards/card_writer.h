// Writes the cards of a reply or request into one string.
//
// CardWriter fossilizes text for users (a space becomes \s and so on). Names and codes are also
// fossilized if they contain blanks. Otherwise, a value from the repository, such as the `cookie`
// setting, could end its card and add cards that a client would sign with its login. Used by
// ServerSession and ClientSession.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "quarry/base/time.h"

namespace quarry::sync {

class CardWriter {
 public:
  std::size_t size() const { return text_.size(); }
  std::string take() { return std::move(text_); }
  void reserve(std::size_t size) { text_.reserve(size); }

  /// Writes a card that consists of WORDS. Words that contain blanks are fossilized. Empty words are
  /// left out.
  void card(std::initializer_list<std::string_view> words);
  /// Writes `pragma server-version …`, with the version of fossil with which this server is
  /// compatible.
  void server_version();
  void igot(std::string_view name, bool is_private = false) {
    card({"igot", name, is_private ? "1" : ""});
  }
  void gimme(std::string_view name) { card({"gimme", name}); }
  void push(std::string_view server_code, std::string_view project_code) {
    card({"push", server_code, project_code});
  }
  /// Marks the next `file` or `cfile` card as private.
  void private_next() { card({"private"}); }
  /// Writes a `file` card. SOURCE is the delta source if BYTES is a delta, otherwise empty.
  void file(std::string_view name, std::string_view source, std::string_view bytes);
  /// Writes the line of a `cfile` card. The caller then appends CSIZE bytes to payload(), and calls
  /// end_cfile().
  void cfile(std::string_view name, std::string_view source, std::uint64_t usize,
             std::uint64_t csize);
  std::string& payload() { return text_; }
  void end_cfile();
  /// Writes a `uvigot` card. HASH is "-" if the file was deleted.
  void uvigot(std::string_view name, std::int64_t mtime, std::string_view hash, std::int64_t size);
  void uvfile(std::string_view name, std::int64_t mtime, std::string_view hash,
              std::string_view content);
  void uvfile_deleted(std::string_view name, std::int64_t mtime);
  /// Writes a card `config NAME` with CONTENT, and a newline that is not counted in the size.
  void config(std::string_view name, std::string_view content);
  void message(std::string_view text);
  void error(std::string_view text);
  /// Writes the last line of a reply.
  void timestamp(base::UnixMillis now, int errors);

 private:
  std::string text_;
};

}  // namespace quarry::sync
