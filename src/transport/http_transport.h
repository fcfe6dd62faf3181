// HTTP and HTTPS requests with libcurl. Redirects are handled here, because the request body
// contains the user's login, which is only for the first server.
#pragma once

#include <curl/curl.h>

#include <memory>

#include "quarry/transport/remote_url.h"
#include "quarry/transport/transport.h"

namespace quarry::transport {

class HttpTransport : public Transport {
 public:
  HttpTransport(const RemoteUrl& url, const TransportOptions& options);

  base::Result<TransportReply> exchange(const sync::ClientRequest& request) override;
  std::string remote_address() const override { return address_; }
  std::optional<std::string> moved_to() const override { return moved_to_; }

 private:
  struct Cleanup {
    void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  };

  void prepare(const sync::ClientRequest& request, curl_slist* headers, TransportReply& reply);
  base::Result<TransportReply> follow(long status);
  base::Result<TransportReply> failed(CURLcode code) const;
  static int check_interrupted(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t);
  static std::size_t receive(char* bytes, std::size_t size, std::size_t count, void* self);

  TransportOptions options_;
  std::string url_;
  std::unique_ptr<CURL, Cleanup> handle_;
  std::string address_;
  std::optional<std::string> moved_to_;
  bool moved_for_good_ = true;  // so far
  int redirects_ = 0;
  char message_[CURL_ERROR_SIZE] = "";
  TransportReply* receiving_ = nullptr;
  bool too_large_ = false;
};

}  // namespace quarry::transport
