// GMime and what it brings of GLib, when they are first called (loaded_library.h).
#include <gmime/gmime.h>

#include "loaded_library.h"

namespace {

constexpr const char* kLibrary = "libgmime-3.0.so.0";

}  // namespace

extern "C" {

#undef g_free
void g_free(gpointer memory) {
  QUARRY_LOADED(g_free)(memory);
}

void g_date_time_unref(GDateTime* time) {
  QUARRY_LOADED(g_date_time_unref)(time);
}

GDateTime* g_date_time_new_from_unix_utc(gint64 time) {
  return QUARRY_LOADED(g_date_time_new_from_unix_utc)(time);
}

gchar* g_utf8_make_valid(const gchar* text, gssize size) {
  return QUARRY_LOADED(g_utf8_make_valid)(text, size);
}

#undef g_object_unref
void g_object_unref(gpointer object) {
  QUARRY_LOADED(g_object_unref)(object);
}

GTypeInstance* g_type_check_instance_cast(GTypeInstance* instance, GType type) {
  return QUARRY_LOADED(g_type_check_instance_cast)(instance, type);
}

void g_mime_init() {
  QUARRY_LOADED(g_mime_init)();
}

GMimeMessage* g_mime_message_new(gboolean is_pretty) {
  return QUARRY_LOADED(g_mime_message_new)(is_pretty);
}

void g_mime_message_add_mailbox(GMimeMessage* message, GMimeAddressType type, const char* name,
                                const char* address) {
  QUARRY_LOADED(g_mime_message_add_mailbox)(message, type, name, address);
}

void g_mime_message_set_subject(GMimeMessage* message, const char* subject, const char* charset) {
  QUARRY_LOADED(g_mime_message_set_subject)(message, subject, charset);
}

void g_mime_message_set_date(GMimeMessage* message, GDateTime* date) {
  QUARRY_LOADED(g_mime_message_set_date)(message, date);
}

void g_mime_message_set_message_id(GMimeMessage* message, const char* id) {
  QUARRY_LOADED(g_mime_message_set_message_id)(message, id);
}

void g_mime_message_set_mime_part(GMimeMessage* message, GMimeObject* part) {
  QUARRY_LOADED(g_mime_message_set_mime_part)(message, part);
}

GType g_mime_object_get_type() {
  return QUARRY_LOADED(g_mime_object_get_type)();
}

void g_mime_object_set_header(GMimeObject* object, const char* name, const char* value,
                              const char* charset) {
  QUARRY_LOADED(g_mime_object_set_header)(object, name, value, charset);
}

GMimeHeaderList* g_mime_object_get_header_list(GMimeObject* object) {
  return QUARRY_LOADED(g_mime_object_get_header_list)(object);
}

char* g_mime_object_to_string(GMimeObject* object, GMimeFormatOptions* options) {
  return QUARRY_LOADED(g_mime_object_to_string)(object, options);
}

GMimeHeader* g_mime_header_list_get_header(GMimeHeaderList* headers, const char* name) {
  return QUARRY_LOADED(g_mime_header_list_get_header)(headers, name);
}

void g_mime_header_set_raw_value(GMimeHeader* header, const char* value) {
  QUARRY_LOADED(g_mime_header_set_raw_value)(header, value);
}

GType g_mime_part_get_type() {
  return QUARRY_LOADED(g_mime_part_get_type)();
}

void g_mime_part_set_content(GMimePart* part, GMimeDataWrapper* content) {
  QUARRY_LOADED(g_mime_part_set_content)(part, content);
}

void g_mime_part_set_content_encoding(GMimePart* part, GMimeContentEncoding encoding) {
  QUARRY_LOADED(g_mime_part_set_content_encoding)(part, encoding);
}

GMimeTextPart* g_mime_text_part_new() {
  return QUARRY_LOADED(g_mime_text_part_new)();
}

void g_mime_text_part_set_charset(GMimeTextPart* part, const char* charset) {
  QUARRY_LOADED(g_mime_text_part_set_charset)(part, charset);
}

GMimeStream* g_mime_stream_mem_new_with_buffer(const char* buffer, size_t size) {
  return QUARRY_LOADED(g_mime_stream_mem_new_with_buffer)(buffer, size);
}

GMimeDataWrapper* g_mime_data_wrapper_new_with_stream(GMimeStream* stream,
                                                      GMimeContentEncoding encoding) {
  return QUARRY_LOADED(g_mime_data_wrapper_new_with_stream)(stream, encoding);
}

GMimeFormatOptions* g_mime_format_options_new() {
  return QUARRY_LOADED(g_mime_format_options_new)();
}

void g_mime_format_options_free(GMimeFormatOptions* options) {
  QUARRY_LOADED(g_mime_format_options_free)(options);
}

void g_mime_format_options_set_newline_format(GMimeFormatOptions* options,
                                              GMimeNewLineFormat format) {
  QUARRY_LOADED(g_mime_format_options_set_newline_format)(options, format);
}

}  // extern "C"
