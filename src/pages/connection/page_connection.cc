#include "page_connection.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "quarry/base/socket.h"
#include "quarry/http/parameters.h"
#include "quarry/http/request_id.h"

namespace quarry::pages {
namespace {

constexpr std::chrono::milliseconds kDrainTime{2000};
// If fewer bytes are buffered, more of the reply is requested.
constexpr std::size_t kLowWater = std::size_t{256} << 10;
// Parts of up to this size are copied, because a reference would need more memory.
constexpr std::size_t kMaxCopied = std::size_t{1} << 10;

}  // namespace

PageConnection::PageConnection(event_base* base, base::Fd socket, const Options& options,
                               std::size_t& held_by_all, Owner& owner)
    : options_(options), held_by_all_(held_by_all), owner_(owner), reader_(options.max_body) {
  ::fcntl(socket.get(), F_SETFL, ::fcntl(socket.get(), F_GETFL) | O_NONBLOCK);
  bev_.reset(bufferevent_socket_new(base, socket.get(), BEV_OPT_CLOSE_ON_FREE));
  if (!bev_) return;
  socket.release();
  bufferevent_setcb(
      bev_.get(), [](bufferevent*, void* self) { static_cast<PageConnection*>(self)->on_input(); },
      [](bufferevent*, void* self) { static_cast<PageConnection*>(self)->on_output(); },
      [](bufferevent*, short what, void* self) {
        auto* const connection = static_cast<PageConnection*>(self);
        constexpr short kWriteTimeout = BEV_EVENT_TIMEOUT | BEV_EVENT_WRITING;
        if (what == kWriteTimeout) return connection->on_write_timeout();
        connection->owner_.on_gone(*connection);
      },
      this);
  bufferevent_setwatermark(bev_.get(), EV_WRITE, kLowWater, 0);
  const timeval time = base::to_timeval(options.timeout);
  bufferevent_set_timeouts(bev_.get(), &time, &time);
  bufferevent_enable(bev_.get(), EV_READ | EV_WRITE);
}

void PageConnection::hold(std::size_t bytes) {
  held_by_all_ += bytes - held_;
  held_ = bytes;
}

void PageConnection::on_input() {
  evbuffer* const input = bufferevent_get_input(bev_.get());
  if (is_refused_) {
    evbuffer_drain(input, evbuffer_get_length(input));
    return;
  }
  // The request is complete, so the only valid input is an abort. End the connection in any case.
  if (state_ != State::kReading) return owner_.on_gone(*this);
  const RequestReader::Status status = reader_.feed(input);
  if (status == RequestReader::Status::kMore) return hold(reader_.body_size());
  if (status == RequestReader::Status::kMalformed || status == RequestReader::Status::kAborted) {
    return owner_.on_gone(*this);
  }
  state_ = State::kHandled;
  const timeval time = base::to_timeval(options_.timeout);
  bufferevent_set_timeouts(bev_.get(), nullptr, &time);
  hold(reader_.body_size());
  is_refused_ = status == RequestReader::Status::kTooLarge;
  owner_.on_request(*this, is_refused_);
}

void PageConnection::on_output() {
  if (state_ == State::kReading) return;
  if (state_ == State::kHandled) return owner_.on_drained(*this);
  if (unsent() > 0) return;
  if (!is_refused_) return owner_.on_gone(*this);
  // Keep the connection open for a while, because the web server might still be sending. If the
  // connection were closed now, the web server could lose the reply.
  const timeval time = base::to_timeval(kDrainTime);
  bufferevent_set_timeouts(bev_.get(), &time, nullptr);
}

void PageConnection::on_write_timeout() {
  const std::pair left{unsent(), base::unacknowledged(bufferevent_getfd(bev_.get()))};
  if (left == std::exchange(left_, left)) return owner_.on_gone(*this);
  bufferevent_enable(bev_.get(), EV_WRITE);
}

PageConnection::Header PageConnection::header_of(std::uint8_t type, std::size_t size) const {
  return http::encode({.type = type,
                       .request_id = reader_.id(),
                       .content_length = static_cast<std::uint16_t>(size)});
}

void PageConnection::put_header(std::uint8_t type, std::size_t size) {
  const Header bytes = header_of(type, size);
  bufferevent_write(bev_.get(), bytes.data(), bytes.size());
}

void PageConnection::begin(int status, std::string_view head) {
  status_ = status;
  const std::string_view id = request().get(http::parameter::kRequestId);
  const std::size_t first_line = std::min(head.find('\n') + 1, head.size());
  put(head.substr(0, first_line));
  if (!id.empty()) put(fmt::format("{}: {}\r\n", http::kRequestIdHeader, id));
  put(head.substr(first_line));
}

void PageConnection::add(std::string_view bytes) {
  replied_ += bytes.size();
  put(bytes);
}

void PageConnection::put(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, http::kMaxContent);
    put_header(FCGI_STDOUT, piece.size());
    bufferevent_write(bev_.get(), piece.data(), piece.size());
    bytes.remove_prefix(piece.size());
  }
}

void PageConnection::add(evbuffer* body) {
  // The bytes are copied, because a buffer that was read from a pipe is only half full. If such a
  // buffer were moved to the output, its free half would be wasted.
  while (evbuffer_get_length(body) > 0) {
    evbuffer_iovec first{};
    evbuffer_peek(body, -1, nullptr, &first, 1);
    add(std::string_view(static_cast<const char*>(first.iov_base), first.iov_len));
    evbuffer_drain(body, first.iov_len);
  }
}

void PageConnection::add(std::shared_ptr<const CachedPage> page,
                         const std::vector<BodyPart>& body) {
  page_ = std::move(page);
  for (const BodyPart& part : body) {
    if (part.shared.size() <= kMaxCopied) {
      add(part.bytes());
      continue;
    }
    replied_ += part.shared.size();
    for (std::string_view rest = part.shared; !rest.empty();) {
      const std::string_view piece = rest.substr(0, http::kMaxContent);
      evbuffer* const output = bufferevent_get_output(bev_.get());
      headers_.push_back(header_of(FCGI_STDOUT, piece.size()));
      evbuffer_add_reference(output, headers_.back().data(), headers_.back().size(), nullptr,
                             nullptr);
      evbuffer_add_reference(output, piece.data(), piece.size(), nullptr, nullptr);
      rest.remove_prefix(piece.size());
    }
  }
}

void PageConnection::end() {
  std::string end;
  http::append_record(end, FCGI_STDOUT, reader_.id(), {});
  http::append_record(end, FCGI_END_REQUEST, reader_.id(), http::end_content());
  bufferevent_write(bev_.get(), end.data(), end.size());
  state_ = State::kEnded;
  bufferevent_setwatermark(bev_.get(), EV_WRITE, 0, 0);
}

std::size_t PageConnection::unsent() const {
  return evbuffer_get_length(bufferevent_get_output(bev_.get()));
}

std::size_t PageConnection::memory() const {
  if (!page_) return unsent();
  return page_->size() / static_cast<std::size_t>(page_.use_count());
}

}  // namespace quarry::pages
