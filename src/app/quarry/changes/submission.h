// A change set on its way to a queue: packed, and sent.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/changes/tarball.h"
#include "queue_client.h"

namespace quarry::app {

/// The tarball of META with FILES. Errors: those of write_tarball(); kLimit: more than MOST bytes.
base::Result<std::string> packed(const changes::Meta& meta,
                                 std::span<const changes::FileToSubmit> files, std::size_t most);
/// Sends TARBALL; returns the id that the server gives it. Errors: those of QueueClient::post().
base::Result<changes::ChangeSetId> send(const QueueClient& client, changes::MoveType type,
                                        std::string_view tarball);

}  // namespace quarry::app
