#include "quarry/transport/connect.h"

#include "http_transport.h"
#include "program_transport.h"

namespace quarry::transport {

base::Result<std::unique_ptr<Transport>> connect(const RemoteUrl& url,
                                                 const TransportOptions& options) {
  if (url.is_http()) return std::make_unique<HttpTransport>(url, options);
  return std::make_unique<ProgramTransport>(url, options);
}

base::Result<void> converse(sync::ClientSession& session, Transport& transport,
                            const std::function<void()>& after_each) {
  while (!session.is_done()) {
    QUARRY_TRY_ASSIGN(sync::ClientRequest request, session.next_request());
    QUARRY_TRY_ASSIGN(TransportReply reply, transport.exchange(request));
    while (reply.was_redirected) {
      request = session.repeat_without_login();
      QUARRY_TRY_ASSIGN(reply, transport.exchange(request));
    }
    QUARRY_TRY(session.take_reply(reply.content_type, reply.body, transport.remote_address()));
    if (after_each) after_each();
  }
  return {};
}

}  // namespace quarry::transport
