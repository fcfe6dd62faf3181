// Replies of fossil processes: sends them to the clients, and stores shared pages in the cache.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include "fossil/scgi.h"
#include "server.h"

namespace quarry::pages {
namespace {

// Maximum number of bytes of a change's reply that is held until the change is confirmed.
constexpr std::size_t kMaxHeld = std::size_t{4} << 20;
constexpr std::size_t kMinUnsent = std::size_t{4} << 20;
constexpr std::size_t kUnsentShare = 8;  // of pages.max_bodies
// The words of fossil on a page that must not execute the shell.
constexpr std::string_view kNoMailProgram = "Could not open output pipe";

/// Returns the maximum number of buffered bytes for a client that reads slowly. Above it, the process
/// that makes the page waits for the client, and other requests cannot use its place meanwhile.
std::size_t max_unsent(const Options& options) {
  return std::max(kMinUnsent, options.max_bodies / kUnsentShare);
}

}  // namespace

void Server::on_head(FossilRun& run, http::ReplyHeader& header) {
  Running& running = runs_.at(&run);
  if (running.shared) {
    const bool is_cacheable =
        CachedPage::is_cacheable(header) && *header.content_length <= cache_.largest();
    running.shared->header = header;
    if (!is_cacheable) unshare(run);
    return;
  }
  if (running.login) running.login->on_head(header);
  if (running.connection == nullptr) return;
  ConnectionState& state = connections_.at(running.connection);
  if (running.is_post && !handles_.replica.path.empty()) {
    state.held = std::make_unique<HeldReply>(header.status, header_block(header));
    return;
  }
  state.has_head = true;
  running.connection->begin(header.status, header_block(header));
}

void Server::unshare(FossilRun& run) {
  Running& running = runs_.at(&run);
  const auto shared = std::move(running.shared);
  shared_.erase(shared->key);
  // The page might be private to the first client, so all other requests start again. The first
  // request also starts again after status 400, with which fossil reports a locked database, and if
  // the reply depends on the client, because the page was made without the client's address and
  // agent.
  for (PageConnection* const connection : shared->connections) {
    ConnectionState& state = connections_.at(connection);
    const bool is_first =
        connection == shared->connections.front() && shared->header.status != 400 &&
        !CachedPage::is_personal(shared->header) && !connection->request().is_head() &&
        connection->request().get("HTTP_IF_NONE_MATCH").empty();
    if (!is_first) {
      ask(*connection);
      continue;
    }
    running.connection = connection;
    state.run = &run;
    state.has_head = true;
    connection->begin(shared->header.status, header_block(shared->header));
  }
  if (running.connection == nullptr) run.cancel();
}

void Server::on_body(FossilRun& run, evbuffer* body) {
  const Running& running = runs_.at(&run);
  if (running.shared) {
    evbuffer_add_buffer(running.shared->body.get(), body);
    return;
  }
  if (running.login) running.login->on_body(body);
  if (running.is_post && options_.is_confined &&
      evbuffer_search(body, kNoMailProgram.data(), kNoMailProgram.size(), nullptr).pos >= 0) {
    errors_log_.warn(
        fmt::format("{}: the page could not start the program that sends its mail: add /bin/sh and "
                    "the program in email-send-command to pages.allow_execute",
                    running.request));
  }
  if (running.connection == nullptr) {
    evbuffer_drain(body, evbuffer_get_length(body));
    return;
  }
  const ConnectionState& state = connections_.at(running.connection);
  if (state.held) {
    evbuffer_add_buffer(state.held->body.get(), body);
    // Such a large reply is a download, which does not need a confirmation.
    if (evbuffer_get_length(state.held->body.get()) <= kMaxHeld) return;
    release(*running.connection);
  }
  running.connection->add(body);
  if (running.connection->unsent() > max_unsent(options_)) run.pause();
  limit_unread();
}

void Server::on_complete(FossilRun& run) {
  Running& running = runs_.at(&run);
  if (running.login) running.login->on_complete();
  if (running.shared) return finish_shared(*std::exchange(running.shared, nullptr));
  PageConnection* const connection = std::exchange(running.connection, nullptr);
  if (connection == nullptr) return;
  ConnectionState& state = connections_.at(connection);
  state.run = nullptr;
  if (!state.held) return connection->end();
  const auto now = state_of(state.file);
  if (now && now == running.state_before) return on_published(*connection, {});
  state.publication = std::make_unique<Publication>(
      base_, handles_.replica, handles_.pool, state.name,
      [this, connection](const auto& published) { on_published(*connection, published); });
}

void Server::release(PageConnection& connection) {
  ConnectionState& state = connections_.at(&connection);
  const auto held = std::exchange(state.held, nullptr);
  state.has_head = true;
  connection.begin(held->status, held->head);
  connection.add(held->body.get());
}

void Server::on_published(PageConnection& connection, const Result<void>& published) {
  if (!published) {
    constexpr auto kUnconfirmed =
        "the change is stored on this host, but the other hosts have not confirmed it";
    return answer(connection, {.status = 503,
                               .text = kUnconfirmed,
                               .in_log = fmt::format("{}: {}: {}", connection.request().in_words(),
                                                     kUnconfirmed, published.error().message)});
  }
  release(connection);
  connection.end();
}

void Server::finish_shared(Shared& shared) {
  shared_.erase(shared.key);
  const std::size_t size = evbuffer_get_length(shared.body.get());
  const auto* bytes = reinterpret_cast<const char*>(evbuffer_pullup(shared.body.get(), -1));
  const auto page = CachedPage::make(std::move(shared.header),
                                     std::string_view(bytes, bytes == nullptr ? 0 : size));
  if (page && shared.is_kept) cache_.insert(shared.key, page, std::chrono::steady_clock::now());
  for (PageConnection* const connection : shared.connections) {
    if (page) {
      answer(*connection, page);
    } else {
      ask(*connection);
    }
  }
  limit_unread();
}

}  // namespace quarry::pages
