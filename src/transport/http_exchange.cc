#include "quarry/transport/http_exchange.h"

#include <curl/curl.h>
#include <fmt/core.h>
#include <openssl/x509_vfy.h>

#include <array>
#include <memory>
#include <utility>

#include "quarry/base/escape.h"
#include "quarry/base/url.h"

namespace quarry::transport {
namespace {

struct Cleanup {
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

/// Returns nonzero to abort the transfer.
int check_interrupted(void* self, curl_off_t /*unused*/, curl_off_t /*unused*/,
                      curl_off_t /*unused*/, curl_off_t /*unused*/) {
  const auto& is_interrupted = static_cast<Receiving*>(self)->options.is_interrupted;
  return is_interrupted && is_interrupted() ? 1 : 0;
}

/// Sets the options of all requests.
void set_up(CURL* curl, const TransportOptions& options) {
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "Quarry/" QUARRY_VERSION);
  // Send the path unchanged, because it is signed.
  curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT,
                   static_cast<long>(options.connect_timeout.count()));
  // A transfer of less than one byte per second counts as idle.
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, static_cast<long>(options.idle_timeout.count()));
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, &check_interrupted);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &receive);
  // If only a file is set, do not use the system's default folder. If only a folder is set, do not
  // use the system's default file.
  if (!options.ca_file.empty() || !options.ca_folder.empty()) {
    const auto chosen = [](const std::string& path) {
      return path.empty() ? nullptr : path.c_str();
    };
    curl_easy_setopt(curl, CURLOPT_CAINFO, chosen(options.ca_file));
    curl_easy_setopt(curl, CURLOPT_CAPATH, chosen(options.ca_folder));
  }
}

std::string text_of(CURL* curl, CURLINFO info) {
  const char* text = nullptr;
  curl_easy_getinfo(curl, info, &text);
  return text != nullptr ? text : "";
}

/// Returns whether the server's certificate was refused because no trusted CA has issued it.
bool is_issuer_unknown(CURL* curl) {
  long result = X509_V_OK;
  curl_easy_getinfo(curl, CURLINFO_SSL_VERIFYRESULT, &result);
  return result == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT ||
         result == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY ||
         result == X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE ||
         result == X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT ||
         result == X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN;
}

}  // namespace

std::string plain_text_of(const HttpReply& reply) {
  if (!reply.content_type.starts_with("text/plain")) return {};
  return base::printable_message(reply.body.substr(0, reply.body.find_first_of("\r\n")), 500);
}

HttpClient::HttpClient(TransportOptions options)
    : options_(std::move(options)), curl_(curl_easy_init()) {
  if (curl_ != nullptr) set_up(curl_, options_);
}

HttpClient::~HttpClient() {
  curl_easy_cleanup(curl_);
}

Result<HttpReply> HttpClient::exchange(const HttpRequest& request) {
  if (curl_ == nullptr) return fail(ErrorCode::kIo, "cannot initialize libcurl");
  Receiving receiving{.options = options_, .reply = {}};
  // Do not wait for `100 Continue`, because some servers do not send it.
  const std::unique_ptr<curl_slist, Cleanup> headers(curl_slist_append(nullptr, "Expect:"));
  for (const std::string& each : request.headers) curl_slist_append(headers.get(), each.c_str());
  std::array<char, CURL_ERROR_SIZE> message{};
  curl_easy_setopt(curl_, CURLOPT_URL, request.url.c_str());
  if (request.method == "POST") {
    curl_easy_setopt(curl_, CURLOPT_POSTFIELDS, request.body.empty() ? "" : request.body.data());
    curl_easy_setopt(curl_, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
  } else {
    curl_easy_setopt(curl_, CURLOPT_HTTPGET, 1L);
  }
  curl_easy_setopt(curl_, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl_, CURLOPT_XFERINFODATA, &receiving);
  curl_easy_setopt(curl_, CURLOPT_WRITEDATA, &receiving);
  curl_easy_setopt(curl_, CURLOPT_ERRORBUFFER, message.data());
  const CURLcode code = curl_easy_perform(curl_);
  curl_easy_setopt(curl_, CURLOPT_ERRORBUFFER, nullptr);
  const std::string url = base::without_secrets(request.url);
  if (receiving.is_too_large) {
    return fail(ErrorCode::kLimit, "{}: the reply is larger than {} bytes", url,
                options_.max_reply);
  }
  if (code == CURLE_ABORTED_BY_CALLBACK) return fail(ErrorCode::kIo, "interrupted");
  const std::string why = message[0] != '\0' ? message.data() : curl_easy_strerror(code);
  if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE) {
    const bool lacks_ca = code == CURLE_SSL_CACERT_BADFILE || is_issuer_unknown(curl_);
    return fail(ErrorCode::kDenied, "{}: {}{}", url, why,
                lacks_ca ? " (to trust another CA, use --ca-file, or ca_file in [peer])" : "");
  }
  if (code != CURLE_OK) return fail(ErrorCode::kIo, "{}: {}", url, why);
  HttpReply& reply = receiving.reply;
  curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &reply.status);
  reply.content_type = text_of(curl_, CURLINFO_CONTENT_TYPE);
  reply.address = text_of(curl_, CURLINFO_PRIMARY_IP);
  struct curl_header* location = nullptr;
  if (curl_easy_header(curl_, "Location", 0, CURLH_HEADER, -1, &location) == CURLHE_OK) {
    reply.location = location->value;
  }
  return std::move(reply);
}

}  // namespace quarry::transport
