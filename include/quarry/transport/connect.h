// Connects to a URL and runs a sync session over the connection.
#pragma once

#include <functional>
#include <memory>

#include "quarry/base/result.h"
#include "quarry/sync/client_session.h"
#include "quarry/transport/remote_url.h"
#include "quarry/transport/transport.h"

namespace quarry::transport {

/// The transport for URL's scheme. Errors: kInvalid.
base::Result<std::unique_ptr<Transport>> connect(const RemoteUrl& url,
                                                 const TransportOptions& options);

/// Exchanges messages between SESSION and the server behind TRANSPORT until the session is
/// complete. AFTER_EACH (may be empty) is called after each reply.
base::Result<void> converse(sync::ClientSession& session, Transport& transport,
                            const std::function<void()>& after_each);

}  // namespace quarry::transport
