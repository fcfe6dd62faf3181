// A libcurl handle with the settings of all deliveries: it does not use a proxy, and a transfer can
// be interrupted.
#pragma once

#include <curl/curl.h>

#include <array>
#include <functional>
#include <string>

namespace quarry::courier {

/// Returns whether to abort the current delivery. Polled during a delivery.
using Interrupted = std::function<bool()>;

class Transfer {
 public:
  /// Creates a handle that trusts the CA certificates in CA_FILE, or the system's if CA_FILE is "".
  /// IS_INTERRUPTED can be empty.
  Transfer(Interrupted is_interrupted, const std::string& ca_file);
  ~Transfer() { curl_easy_cleanup(handle_); }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  /// The handle, or null if memory was exhausted. libcurl's functions then return an error.
  CURL* handle() const { return handle_; }
  void set(CURLoption option, auto value) { curl_easy_setopt(handle_, option, value); }
  CURLcode perform();
  /// Returns the error of the last transfer, which has ended with CODE, in printable form.
  std::string error(CURLcode code) const;

 private:
  static int check_interrupted(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t);

  Interrupted is_interrupted_;
  CURL* handle_;
  std::array<char, CURL_ERROR_SIZE> message_{};
};

}  // namespace quarry::courier
