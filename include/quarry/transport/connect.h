// From a URL to a conversation.
#pragma once

#include <functional>
#include <memory>

#include "quarry/base/result.h"
#include "quarry/sync/client_session.h"
#include "quarry/transport/remote_url.h"
#include "quarry/transport/transport.h"

namespace quarry::transport {

/// The transport for URL's scheme. Error: kInvalid.
base::Result<std::unique_ptr<Transport>> connect(const RemoteUrl& url,
                                                 const TransportOptions& options);

/// Lets SESSION and the server behind TRANSPORT talk until everything is said. AFTER_EACH (may be
/// empty) is called after each reply.
base::Result<void> converse(sync::ClientSession& session, Transport& transport,
                            const std::function<void()>& after_each);

}  // namespace quarry::transport
