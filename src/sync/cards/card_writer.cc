#include "card_writer.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <iterator>

#include "quarry/artifact/fossilize.h"

namespace quarry::sync {
namespace {

// Fossil 2.29, with the earliest possible date of any 2.29, so as not to promise what clients may
// expect of later versions. A client of 2.27 or later that sees a version this late sends its login
// in a header.
constexpr std::string_view kServerVersion = "pragma server-version 22900 20260312 000000\n";

}  // namespace

void CardWriter::server_version() {
  text_ += kServerVersion;
}

void CardWriter::igot(std::string_view name) {
  text_ += "igot ";
  text_ += name;
  text_ += '\n';
}

void CardWriter::private_igot(std::string_view name) {
  text_ += "igot ";
  text_ += name;
  text_ += " 1\n";
}

void CardWriter::gimme(std::string_view name) {
  text_ += "gimme ";
  text_ += name;
  text_ += '\n';
}

void CardWriter::push(std::string_view server_code, std::string_view project_code) {
  text_ += "push ";
  text_ += server_code;
  text_ += ' ';
  text_ += project_code;
  text_ += '\n';
}

void CardWriter::clone_seqno(std::int64_t next) {
  text_ += "clone_seqno";
  number(static_cast<std::uint64_t>(next));
  text_ += '\n';
}

void CardWriter::private_next() {
  text_ += "private\n";
}

void CardWriter::file(std::string_view name, std::string_view source, std::string_view bytes) {
  text_ += "file ";
  text_ += name;
  if (!source.empty()) {
    text_ += ' ';
    text_ += source;
  }
  number(bytes.size());
  text_ += '\n';
  text_ += bytes;
}

void CardWriter::cfile(std::string_view name, std::string_view source, std::uint64_t usize,
                       std::uint64_t csize) {
  text_ += "cfile ";
  text_ += name;
  if (!source.empty()) {
    text_ += ' ';
    text_ += source;
  }
  number(usize);
  number(csize);
  text_ += '\n';
}

void CardWriter::end_cfile() {
  if (text_.back() != '\n') text_ += '\n';
}

void CardWriter::pragma(std::string_view name, std::string_view words) {
  text_ += "pragma ";
  text_ += name;
  if (!words.empty()) {
    text_ += ' ';
    text_ += words;
  }
  text_ += '\n';
}

void CardWriter::uvigot(std::string_view name, std::int64_t mtime, std::string_view hash,
                        std::int64_t size) {
  fmt::format_to(std::back_inserter(text_), "uvigot {} {} {} {}\n", name, mtime, hash, size);
}

void CardWriter::uvfile(std::string_view name, std::int64_t mtime, std::string_view hash,
                        std::string_view content) {
  fmt::format_to(std::back_inserter(text_), "uvfile {} {} {} {} 0\n", name, mtime, hash,
                 content.size());
  text_ += content;
}

void CardWriter::uvfile_deleted(std::string_view name, std::int64_t mtime) {
  fmt::format_to(std::back_inserter(text_), "uvfile {} {} - 0 1\n", name, mtime);
}

void CardWriter::config(std::string_view name, std::string_view content) {
  text_ += "config ";
  text_ += name;
  number(content.size());
  text_ += '\n';
  text_ += content;
  text_ += '\n';
}

void CardWriter::message(std::string_view text) {
  text_ += "message ";
  text_ += artifact::fossilize(text);
  text_ += '\n';
}

void CardWriter::error(std::string_view text) {
  text_ += "error ";
  text_ += artifact::fossilize(text);
  text_ += '\n';
}

void CardWriter::timestamp(base::UnixMillis now, int errors) {
  text_ += "# timestamp ";
  text_ += base::iso_seconds(now);
  text_ += " errors";
  number(static_cast<std::uint64_t>(errors));
  text_ += '\n';
}

void CardWriter::number(std::uint64_t value) {
  std::array<char, 24> digits{' '};
  const auto end = std::to_chars(digits.data() + 1, digits.data() + digits.size(), value).ptr;
  text_.append(digits.data(), end);
}

}  // namespace quarry::sync
