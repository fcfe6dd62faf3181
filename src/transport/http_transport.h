// Syncs over HTTP and HTTPS. This class follows redirects itself. After a redirect, the request is
// built again, because the body contains the user's login for the first server.
#pragma once

#include "quarry/transport/http_exchange.h"
#include "quarry/transport/remote_url.h"
#include "quarry/transport/transport.h"

namespace quarry::transport {

class HttpTransport : public Transport {
 public:
  HttpTransport(const RemoteUrl& url, const TransportOptions& options)
      : client_(options), url_(url.without_user()) {}

  Result<TransportReply> exchange(const sync::ClientRequest& request) override;
  std::string remote_address() const override { return address_; }
  std::optional<std::string> moved_to() const override { return moved_to_; }

 private:
  Result<TransportReply> follow(const HttpReply& redirect);

  HttpClient client_;
  std::string url_;
  std::string address_;
  std::optional<std::string> moved_to_;
  bool moved_for_good_ = true;  // whether all redirects were permanent
  int redirects_ = 0;
};

}  // namespace quarry::transport
