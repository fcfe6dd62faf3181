#include "quarry/transport/http_exchange.h"

#include <curl/curl.h>
#include <fmt/core.h>

#include <array>
#include <memory>

#include "curl_bounds.h"
#include "quarry/base/url.h"

namespace quarry::transport {
namespace {

using base::ErrorCode;
using base::fail;

struct Cleanup {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

struct Receiving {
  const TransportOptions& options;
  HttpReply reply;
  bool is_too_large = false;
};

std::size_t receive(char* bytes, std::size_t size, std::size_t count, void* self) {
  auto* const receiving = static_cast<Receiving*>(self);
  const std::size_t length = size * count;
  if (receiving->reply.body.size() + length > receiving->options.max_reply) {
    receiving->is_too_large = true;
    return 0;
  }
  receiving->reply.body.append(bytes, length);
  return length;
}

/// Nonzero aborts the transfer.
int check_interrupted(void* self, curl_off_t /*unused*/, curl_off_t /*unused*/,
                      curl_off_t /*unused*/, curl_off_t /*unused*/) {
  const auto& asked = static_cast<Receiving*>(self)->options.is_interrupted;
  return asked && asked() ? 1 : 0;
}

void prepare(CURL* curl, const HttpRequest& request, Receiving& receiving) {
  const TransportOptions& options = receiving.options;
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  if (request.method == "POST") {
    curl_easy_setopt(curl, CURLOPT_POST, 1L);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.data());
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
  }
  // The request must be sent exactly as it was signed.
  set_bounds(curl, options.connect_timeout, options.idle_timeout);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, &check_interrupted);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &receiving);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &receive);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &receiving);
  if (!options.ca_file.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, options.ca_file.c_str());
  if (!options.ca_folder.empty()) curl_easy_setopt(curl, CURLOPT_CAPATH, options.ca_folder.c_str());
}

}  // namespace

base::Result<HttpReply> exchange(const HttpRequest& request, const TransportOptions& options) {
  const std::unique_ptr<CURL, Cleanup> handle(curl_easy_init());
  if (!handle) return fail(ErrorCode::kIo, "libcurl does not start");
  Receiving receiving{.options = options, .reply = {}};
  // Do not wait for `100 Continue`, which not every server sends.
  std::unique_ptr<curl_slist, Cleanup> headers(curl_slist_append(nullptr, "Expect:"));
  for (const std::string& each : request.headers) curl_slist_append(headers.get(), each.c_str());
  std::array<char, CURL_ERROR_SIZE> message{};
  prepare(handle.get(), request, receiving);
  curl_easy_setopt(handle.get(), CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(handle.get(), CURLOPT_ERRORBUFFER, message.data());
  const CURLcode code = curl_easy_perform(handle.get());
  if (receiving.is_too_large) {
    return fail(ErrorCode::kLimit,
                fmt::format("{}: a reply of more than {} bytes", base::without_secrets(request.url),
                            options.max_reply));
  }
  if (code == CURLE_ABORTED_BY_CALLBACK) return fail(ErrorCode::kIo, "interrupted");
  if (code != CURLE_OK) {
    const bool is_certificate =
        code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE;
    const std::string why = message[0] != '\0' ? message.data() : curl_easy_strerror(code);
    return fail(is_certificate ? ErrorCode::kDenied : ErrorCode::kIo,
                fmt::format("{}: {}", base::without_secrets(request.url), why));
  }
  curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &receiving.reply.status);
  const char* type = nullptr;
  curl_easy_getinfo(handle.get(), CURLINFO_CONTENT_TYPE, &type);
  receiving.reply.content_type = type != nullptr ? type : "";
  return std::move(receiving.reply);
}

}  // namespace quarry::transport
