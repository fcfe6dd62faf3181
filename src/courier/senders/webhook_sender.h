// POSTs an event's JSON over HTTP with libcurl; the connection is kept alive.
//
//   2xx                                done
//   4xx that rejects the request       permanent: 400, 405, 406, 410, 411, 413, 414, 415, 422, 431
//   anything else, including 3xx       retry, since the server or the configuration may be fixed
//   and 401 to 404
//
// Retry-After is respected for any status.
#pragma once

#include <curl/curl.h>

#include <array>
#include <memory>
#include <string>

#include "quarry/courier/options.h"
#include "sender.h"

namespace quarry::courier {

class WebhookSender final : public Sender {
 public:
  /// Errors: cannot read the secret.
  static base::Result<std::unique_ptr<Sender>> make(const DestinationOptions& options,
                                                    Interrupted is_interrupted);
  ~WebhookSender() override;

  DeliveryResult deliver(const OutgoingEvent& outgoing) override;

 private:
  WebhookSender(const DestinationOptions& options, std::string secret, Interrupted is_interrupted);
  void prepare();
  curl_slist* headers_of(const OutgoingEvent& outgoing) const;
  DeliveryResult answer_of(CURLcode code);
  static std::size_t receive(char* bytes, std::size_t size, std::size_t count, void* self);
  static int check_interrupted(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t);

  DestinationOptions options_;
  std::string secret_;  // "": do not sign
  Interrupted is_interrupted_;
  CURL* handle_;
  std::array<char, CURL_ERROR_SIZE> message_{};
  std::size_t received_ = 0;  // bytes of the response body
  std::string beginning_;     // of the response body
};

/// Whether STATUS, which is not 2xx, is a permanent failure.
bool is_final_status(long status);

}  // namespace quarry::courier
