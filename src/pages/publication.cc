#include "publication.h"

#include <fmt/core.h>

#include <cstdlib>
#include <utility>

#include "quarry/base/socket.h"

namespace quarry::pages {
namespace {

constexpr std::chrono::milliseconds kRetryDelay{50};

}  // namespace

Publication::Publication(event_base* base, const ReplicaSocket& replica, std::string_view pool,
                         std::string_view name, Done done)
    : base_(base),
      path_(replica.path),
      question_(fmt::format("publish {} {}\n", pool, name)),
      done_(std::move(done)),
      deadline_(base, -1, 0,
                [this] { finish(fail(ErrorCode::kBusy, "quarry-replica does not answer")); }),
      start_(base, -1, 0, [this] { connect(); }) {
  deadline_.wait(replica.time_out);
  start_.fire();
}

void Publication::connect() {
  connection_.reset(bufferevent_socket_new(base_, -1, BEV_OPT_CLOSE_ON_FREE));
  const auto address = base::SocketAddress::parse(path_);
  if (!connection_ || !address) return;  // ends at the deadline
  bufferevent_setcb(
      connection_.get(),
      [](bufferevent*, void* self) { static_cast<Publication*>(self)->on_input(); }, nullptr,
      [](bufferevent*, short what, void* self) {
        auto* const publication = static_cast<Publication*>(self);
        // If the process is replaced, the next one answers.
        const bool is_closed = (what & BEV_EVENT_CONNECTED) == 0;
        if (is_closed && !publication->is_done_) publication->start_.wait(kRetryDelay);
      },
      this);
  bufferevent_write(connection_.get(), question_.data(), question_.size());
  bufferevent_enable(connection_.get(), EV_READ | EV_WRITE);
  if (bufferevent_socket_connect(connection_.get(), address->get(),
                                 static_cast<int>(address->size())) != 0) {
    start_.wait(kRetryDelay);
  }
}

void Publication::on_input() {
  const std::unique_ptr<char, base::FreeWith<std::free>> line(
      evbuffer_readln(bufferevent_get_input(connection_.get()), nullptr, EVBUFFER_EOL_LF));
  if (!line) return;
  const std::string_view answer = line.get();
  if (answer.starts_with("ok ")) return finish({});
  finish(fail(ErrorCode::kBusy, std::string(answer.substr(answer.find(' ') + 1))));
}

void Publication::finish(const Result<void>& result) {
  if (std::exchange(is_done_, true)) return;
  deadline_.stop_waiting();
  done_(result);
}

}  // namespace quarry::pages
