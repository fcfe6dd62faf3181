// libarchive and what it brings for XML, when they are first called (loaded_library.h): what writes a
// tarball. Who reads one is linked with the library, since he opens no file once he is confined.
#include <archive.h>
#include <archive_entry.h>

#include <cstdarg>
#include <cstdio>

#include "loaded_library.h"

namespace {

constexpr const char* kLibrary = "libarchive.so.13";

}  // namespace

extern "C" {

archive* archive_write_new() {
  return QUARRY_LOADED(archive_write_new)();
}

int archive_write_add_filter_gzip(archive* writer) {
  return QUARRY_LOADED(archive_write_add_filter_gzip)(writer);
}

int archive_write_add_filter_zstd(archive* writer) {
  return QUARRY_LOADED(archive_write_add_filter_zstd)(writer);
}

int archive_write_set_format_pax_restricted(archive* writer) {
  return QUARRY_LOADED(archive_write_set_format_pax_restricted)(writer);
}

int archive_write_set_bytes_in_last_block(archive* writer, int size) {
  return QUARRY_LOADED(archive_write_set_bytes_in_last_block)(writer, size);
}

int archive_write_set_filter_option(archive* writer, const char* filter, const char* option,
                                    const char* value) {
  return QUARRY_LOADED(archive_write_set_filter_option)(writer, filter, option, value);
}

int archive_write_open(archive* writer, void* data, archive_open_callback* opened,
                       archive_write_callback* write, archive_close_callback* closed) {
  return QUARRY_LOADED(archive_write_open)(writer, data, opened, write, closed);
}

int archive_write_header(archive* writer, archive_entry* entry) {
  return QUARRY_LOADED(archive_write_header)(writer, entry);
}

la_ssize_t archive_write_data(archive* writer, const void* bytes, size_t size) {
  return QUARRY_LOADED(archive_write_data)(writer, bytes, size);
}

int archive_write_finish_entry(archive* writer) {
  return QUARRY_LOADED(archive_write_finish_entry)(writer);
}

int archive_write_close(archive* writer) {
  return QUARRY_LOADED(archive_write_close)(writer);
}

int archive_write_free(archive* writer) {
  return QUARRY_LOADED(archive_write_free)(writer);
}

const char* archive_error_string(archive* any) {
  return QUARRY_LOADED(archive_error_string)(any);
}

archive_entry* archive_entry_new() {
  return QUARRY_LOADED(archive_entry_new)();
}

void archive_entry_free(archive_entry* entry) {
  QUARRY_LOADED(archive_entry_free)(entry);
}

void archive_entry_set_filetype(archive_entry* entry, unsigned int type) {
  QUARRY_LOADED(archive_entry_set_filetype)(entry, type);
}

void archive_entry_set_mtime(archive_entry* entry, time_t seconds, long nanoseconds) {
  QUARRY_LOADED(archive_entry_set_mtime)(entry, seconds, nanoseconds);
}

void archive_entry_set_pathname(archive_entry* entry, const char* name) {
  QUARRY_LOADED(archive_entry_set_pathname)(entry, name);
}

void archive_entry_set_perm(archive_entry* entry, mode_t permissions) {
  QUARRY_LOADED(archive_entry_set_perm)(entry, permissions);
}

void archive_entry_set_size(archive_entry* entry, la_int64_t size) {
  QUARRY_LOADED(archive_entry_set_size)(entry, size);
}

void archive_entry_set_symlink(archive_entry* entry, const char* target) {
  QUARRY_LOADED(archive_entry_set_symlink)(entry, target);
}

void archive_set_error(archive* any, int code, const char* format, ...) {
  char text[1024];
  va_list values;
  va_start(values, format);
  std::vsnprintf(text, sizeof text, format, values);
  va_end(values);
  QUARRY_LOADED(archive_set_error)(any, code, "%s", text);
}

}  // extern "C"
