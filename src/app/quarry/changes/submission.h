// Packs a change set and sends it to a queue.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/changes/tarball.h"
#include "queue_client.h"

namespace quarry::app {

/// Builds the tarball of META with FILES. Errors: those of write_tarball(); kLimit if it is larger
/// than MAX_SIZE bytes.
base::Result<std::string> packed(const changes::Meta& meta,
                                 std::span<const changes::FileToSubmit> files,
                                 std::size_t max_size);
/// Sends TARBALL; returns its id on the server. Errors: those of QueueClient::post().
base::Result<changes::ChangeSetId> send(const QueueClient& client, changes::MoveType type,
                                        std::string_view tarball);

}  // namespace quarry::app
