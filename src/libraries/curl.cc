// libcurl, when it is first called (loaded_library.h).
#include <curl/curl.h>

#include <cstdarg>

#include "loaded_library.h"

// They check types, and are called by their names below.
#undef curl_easy_setopt
#undef curl_easy_getinfo

// The signatures are libcurl's, which begins its own lists behind an enumeration.
#pragma GCC diagnostic ignored "-Wvarargs"

namespace {

constexpr const char* kLibrary = "libcurl.so.4";

template <typename Returned, typename First, typename... Rest>
First first_of(Returned (*)(First, Rest...));

/// Some versions of libcurl promise not to change it.
using UrlToRead = decltype(first_of(&curl_url_get));

}  // namespace

extern "C" {

CURLcode curl_global_init(long flags) {
  return QUARRY_LOADED(curl_global_init)(flags);
}

CURL* curl_easy_init() {
  return QUARRY_LOADED(curl_easy_init)();
}

void curl_easy_cleanup(CURL* handle) {
  QUARRY_LOADED(curl_easy_cleanup)(handle);
}

CURLcode curl_easy_perform(CURL* handle) {
  return QUARRY_LOADED(curl_easy_perform)(handle);
}

const char* curl_easy_strerror(CURLcode code) {
  return QUARRY_LOADED(curl_easy_strerror)(code);
}

/// What type the last argument has, the option's number says.
CURLcode curl_easy_setopt(CURL* handle, CURLoption option, ...) {
  const auto set = QUARRY_LOADED(curl_easy_setopt);
  std::va_list arguments;
  va_start(arguments, option);
  CURLcode code = CURLE_UNKNOWN_OPTION;
  switch (option / 10000 * 10000) {
    case CURLOPTTYPE_LONG:
      code = set(handle, option, va_arg(arguments, long));
      break;
    case CURLOPTTYPE_OBJECTPOINT:
    case CURLOPTTYPE_BLOB:
      code = set(handle, option, va_arg(arguments, void*));
      break;
    case CURLOPTTYPE_FUNCTIONPOINT:
      code = set(handle, option, va_arg(arguments, void (*)()));
      break;
    case CURLOPTTYPE_OFF_T:
      code = set(handle, option, va_arg(arguments, curl_off_t));
      break;
    default:
      break;
  }
  va_end(arguments);
  return code;
}

/// The last argument is a pointer, of whatever type.
CURLcode curl_easy_getinfo(CURL* handle, CURLINFO info, ...) {
  std::va_list arguments;
  va_start(arguments, info);
  const CURLcode code = QUARRY_LOADED(curl_easy_getinfo)(handle, info, va_arg(arguments, void*));
  va_end(arguments);
  return code;
}

CURLHcode curl_easy_header(CURL* handle, const char* name, std::size_t index, unsigned int origin,
                           int request, curl_header** header) {
  return QUARRY_LOADED(curl_easy_header)(handle, name, index, origin, request, header);
}

curl_slist* curl_slist_append(curl_slist* list, const char* text) {
  return QUARRY_LOADED(curl_slist_append)(list, text);
}

void curl_slist_free_all(curl_slist* list) {
  QUARRY_LOADED(curl_slist_free_all)(list);
}

void curl_free(void* memory) {
  QUARRY_LOADED(curl_free)(memory);
}

CURLU* curl_url() {
  return QUARRY_LOADED(curl_url)();
}

void curl_url_cleanup(CURLU* url) {
  QUARRY_LOADED(curl_url_cleanup)(url);
}

CURLUcode curl_url_get(UrlToRead url, CURLUPart part, char** text, unsigned int flags) {
  return QUARRY_LOADED(curl_url_get)(url, part, text, flags);
}

CURLUcode curl_url_set(CURLU* url, CURLUPart part, const char* text, unsigned int flags) {
  return QUARRY_LOADED(curl_url_set)(url, part, text, flags);
}

const char* curl_url_strerror(CURLUcode code) {
  return QUARRY_LOADED(curl_url_strerror)(code);
}

}  // extern "C"
