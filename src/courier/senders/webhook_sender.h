// HTTP POST of an event's JSON, by libcurl, over one connection that is kept.
//
//   2xx                                  done
//   4xx that speaks of the request       given up: 400, 405, 406, 410, 411, 413, 414, 415, 422, 431
//   all else, also 3xx and 401 to 404    later: the server, or the configuration, is to be mended
//
// Retry-After is respected, whatever the status.
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
  /// Errors: the secret cannot be read.
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
  std::string secret_;  // "": nothing is signed
  Interrupted is_interrupted_;
  CURL* handle_;
  std::array<char, CURL_ERROR_SIZE> message_{};
  std::size_t received_ = 0;  // bytes of the reply's body
  std::string beginning_;     // of it
};

/// Whether a delivery that was answered with STATUS, which is no 2xx, is not to be tried again.
bool is_final_status(long status);

}  // namespace quarry::courier
