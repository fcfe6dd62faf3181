#include "card_writer.h"

#include <algorithm>

#include "quarry/artifact/fossilize.h"

namespace quarry::sync {

void CardWriter::card(std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words) {
    if (word.empty()) continue;
    const auto is_blank = [](char c) { return static_cast<unsigned char>(c) <= ' '; };
    if (std::ranges::any_of(word, is_blank)) {
      text_ += artifact::fossilize(word);
    } else {
      text_ += word;
    }
    text_ += ' ';
  }
  text_.back() = '\n';
}

void CardWriter::server_version() {
  // Fossil 2.29, with the earliest possible date of that version, so that clients do not expect
  // later features. With this version, clients from version 2.27 on send their login in a header.
  card({"pragma", "server-version", "22900", "20260312", "000000"});
}

void CardWriter::file(std::string_view name, std::string_view source, std::string_view bytes) {
  card({"file", name, source, std::to_string(bytes.size())});
  text_ += bytes;
}

void CardWriter::cfile(std::string_view name, std::string_view source, std::uint64_t usize,
                       std::uint64_t csize) {
  card({"cfile", name, source, std::to_string(usize), std::to_string(csize)});
}

void CardWriter::end_cfile() {
  if (text_.back() != '\n') text_ += '\n';
}

void CardWriter::uvigot(std::string_view name, std::int64_t mtime, std::string_view hash,
                        std::int64_t size) {
  card({"uvigot", name, std::to_string(mtime), hash, std::to_string(size)});
}

void CardWriter::uvfile(std::string_view name, std::int64_t mtime, std::string_view hash,
                        std::string_view content) {
  card({"uvfile", name, std::to_string(mtime), hash, std::to_string(content.size()), "0"});
  text_ += content;
}

void CardWriter::uvfile_deleted(std::string_view name, std::int64_t mtime) {
  card({"uvfile", name, std::to_string(mtime), "-", "0", "1"});
}

void CardWriter::config(std::string_view name, std::string_view content) {
  card({"config", name, std::to_string(content.size())});
  text_ += content;
  text_ += '\n';
}

void CardWriter::message(std::string_view text) {
  card({"message", artifact::fossilize(text)});
}

void CardWriter::error(std::string_view text) {
  card({"error", artifact::fossilize(text)});
}

void CardWriter::timestamp(base::UnixMillis now, int errors) {
  card({"#", "timestamp", base::iso_seconds(now), "errors", std::to_string(errors)});
}

}  // namespace quarry::sync
