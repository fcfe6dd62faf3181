#include "transfer.h"

#include <utility>

#include "quarry/base/escape.h"

namespace quarry::courier {

Transfer::Transfer(Interrupted is_interrupted, const std::string& ca_file)
    : is_interrupted_(std::move(is_interrupted)), handle_(curl_easy_init()) {
  if (handle_ == nullptr) return;
  set(CURLOPT_PROXY, "");
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &check_interrupted);
  set(CURLOPT_XFERINFODATA, this);
  set(CURLOPT_ERRORBUFFER, message_.data());
  if (ca_file.empty()) return;
  set(CURLOPT_CAINFO, ca_file.c_str());
  set(CURLOPT_CAPATH, nullptr);
}

CURLcode Transfer::perform() {
  message_[0] = '\0';
  return curl_easy_perform(handle_);
}

std::string Transfer::error(CURLcode code) const {
  return base::printable(message_[0] != '\0' ? message_.data() : curl_easy_strerror(code));
}

int Transfer::check_interrupted(void* self, curl_off_t /*unused*/, curl_off_t /*unused*/,
                                curl_off_t /*unused*/, curl_off_t /*unused*/) {
  const auto& is_interrupted = static_cast<Transfer*>(self)->is_interrupted_;
  return is_interrupted && is_interrupted() ? 1 : 0;
}

}  // namespace quarry::courier
