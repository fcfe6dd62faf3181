#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "quarry/base/escape.h"
#include "quarry/changes/tarball.h"

namespace quarry::changes {

struct TarballWriter::State {
  State(Sink to, archive* out) : sink(std::move(to)), writer(out) {}
  ~State() { ::archive_write_free(writer); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  static la_ssize_t on_write(archive* writer, void* self, const void* bytes, std::size_t size) {
    auto& state = *static_cast<State*>(self);
    // libarchive writes an end marker even if the archive is abandoned. Discard the marker.
    if (!state.is_open) return -1;
    const auto done = state.sink({static_cast<const char*>(bytes), size});
    if (done) return static_cast<la_ssize_t>(size);
    state.error = done.error();
    ::archive_set_error(writer, EIO, "%s", state.error.message.c_str());
    return -1;
  }

  Sink sink;
  archive* writer;
  bool is_open = true;
  Error error;
};

TarballWriter::TarballWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
TarballWriter::TarballWriter(TarballWriter&&) noexcept = default;
TarballWriter& TarballWriter::operator=(TarballWriter&& other) noexcept {
  if (state_) state_->is_open = false;
  state_ = std::move(other.state_);
  return *this;
}
TarballWriter::~TarballWriter() {
  if (state_) state_->is_open = false;
}

Result<TarballWriter> TarballWriter::open(Sink sink, TarballCompression compression) {
  TarballWriter writer(std::make_unique<State>(std::move(sink), ::archive_write_new()));
  archive* out = writer.state_->writer;
  // This format allows all names, and is the same as ustar for ordinary names.
  ::archive_write_set_format_pax_restricted(out);
  // Prevents libarchive from composing names in decomposed Unicode, because the result could be the
  // names of other files.
  int code = ::archive_write_set_format_option(out, "pax", "hdrcharset", "BINARY");
  if (code != ARCHIVE_OK) return fail(ErrorCode::kIo, "libarchive cannot write names unchanged");
  if (compression == TarballCompression::kGzip) code = ::archive_write_add_filter_gzip(out);
  if (compression == TarballCompression::kZstd) code = ::archive_write_add_filter_zstd(out);
  if (code != ARCHIVE_OK)
    return fail(ErrorCode::kIo, "libarchive does not support this compression");
  // Omit the time in the gzip header, so that the same files always result in the same tarball.
  if (compression == TarballCompression::kGzip) {
    ::archive_write_set_filter_option(out, "gzip", "timestamp", nullptr);
  }
  ::archive_write_set_bytes_in_last_block(out, 1);
  QUARRY_TRY(writer.outcome(
      ::archive_write_open(out, writer.state_.get(), nullptr, &State::on_write, nullptr)));
  return writer;
}

Result<void> TarballWriter::outcome(int code) {
  if (code == ARCHIVE_OK) return {};
  if (!state_->error.message.empty()) return std::unexpected(state_->error);
  const char* why = ::archive_error_string(state_->writer);
  return fail(ErrorCode::kIo,
              "cannot write a tarball: " + base::printable(why != nullptr ? why : "?"));
}

Result<void> TarballWriter::add(std::string_view path, char permission, std::string_view content) {
  archive* out = state_->writer;
  const std::unique_ptr<archive_entry, decltype(&::archive_entry_free)> entry(
      ::archive_entry_new(), &::archive_entry_free);
  ::archive_entry_set_pathname(entry.get(), std::string(path).c_str());
  ::archive_entry_set_perm(entry.get(), permission == 'x' ? 0755 : 0644);
  ::archive_entry_set_mtime(entry.get(), 0, 0);
  ::archive_entry_set_filetype(entry.get(), AE_IFREG);
  ::archive_entry_set_size(entry.get(), static_cast<la_int64_t>(content.size()));
  if (permission == 'l') {
    ::archive_entry_set_filetype(entry.get(), AE_IFLNK);
    ::archive_entry_set_size(entry.get(), 0);
    ::archive_entry_set_symlink(entry.get(), std::string(content).c_str());
  }
  // Accept ARCHIVE_WARN, which means that the name is not UTF-8 and is written unchanged.
  if (const int code = ::archive_write_header(out, entry.get()); code != ARCHIVE_WARN) {
    QUARRY_TRY(outcome(code));
  }
  if (permission == 'l') return {};
  while (!content.empty()) {
    const la_ssize_t size = ::archive_write_data(out, content.data(), content.size());
    if (size <= 0) return outcome(size < 0 ? static_cast<int>(size) : ARCHIVE_FATAL);
    content.remove_prefix(static_cast<std::size_t>(size));
  }
  return outcome(::archive_write_finish_entry(out));
}

Result<void> TarballWriter::finish() {
  return outcome(::archive_write_close(state_->writer));
}

Result<void> write_tarball(const TarballWriter::Sink& sink, const Meta& meta,
                           std::span<const FileToSubmit> files, TarballCompression compression) {
  for (const std::string& name : meta.files) QUARRY_TRY(check_file_name(name));
  if (!base::is_text(meta.comment, "\t\n")) {
    return fail(ErrorCode::kInvalid, "the comment is not UTF-8, or contains a control character");
  }
  const std::string text = meta.text();
  // Parse the meta file, to avoid writing a tarball that read_tarball() rejects.
  QUARRY_TRY_ASSIGN(Meta same, Meta::parse(text));
  std::ranges::sort(same.files);
  for (const std::string& name : meta.files) {
    // Refuse a name that is not the same after it was written and parsed, because the change set
    // would then change a different file.
    if (!std::ranges::binary_search(same.files, name)) {
      return fail(ErrorCode::kInvalid, "the name \"{}\" cannot be written in ##files",
                  base::printable(name, 120));
    }
  }
  QUARRY_TRY_ASSIGN(auto writer, TarballWriter::open(sink, compression));
  QUARRY_TRY(writer.add("meta", 0, text));
  for (const FileToSubmit& file : files) {
    if (!std::ranges::binary_search(same.files, file.name)) {
      return fail(ErrorCode::kInvalid, "\"{}\" is not in ##files", base::printable(file.name, 120));
    }
    QUARRY_TRY_ASSIGN(const std::string content, file.read());
    if (file.permission == 'l') QUARRY_TRY(check_link_target(file.name, content));
    QUARRY_TRY(writer.add("lroot/" + file.name, file.permission, content));
  }
  return writer.finish();
}

}  // namespace quarry::changes
