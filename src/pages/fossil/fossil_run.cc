#include "fossil_run.h"

#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "quarry/base/duration.h"
#include "quarry/base/escape.h"
#include "quarry/base/log.h"
#include "quarry/base/url.h"

namespace quarry::pages {
namespace {

constexpr std::size_t kMaxHead = std::size_t{64} << 10;
constexpr std::size_t kMaxErrors = 4096;
// Maximum number of bytes in one read.
constexpr std::size_t kMaxRead = std::size_t{1} << 20;
// Time for fossil to exit after a complete reply, before it is killed. Fossil might still be
// writing to the repository.
constexpr std::chrono::milliseconds kExitTime{10'000};
constexpr std::string_view kStatusLine = "HTTP/1.";

bufferevent* watch(event_base* base, base::Fd fd) {
  bufferevent* const bev = bufferevent_socket_new(base, fd.get(), BEV_OPT_CLOSE_ON_FREE);
  if (bev != nullptr) fd.release();
  return bev;
}

/// Returns BLOCK with its HTTP status line replaced by CGI's Status header.
std::string as_cgi(std::string_view block) {
  if (!block.starts_with(kStatusLine)) return std::string(block);
  return fmt::format("Status:{}", block.substr(std::min(block.find(' '), block.size())));
}

std::string in_words(int status) {
  if (WIFSIGNALED(status)) return fmt::format("killed by signal {}", WTERMSIG(status));
  return fmt::format("exited with status {}", WEXITSTATUS(status));
}

}  // namespace

FossilRun::FossilRun(event_base* base, FossilProcess process, std::string_view head, evbuffer* body,
                     bool head_only, const Options& options, Owner& owner)
    : process_(std::move(process)),
      options_(options),
      owner_(owner),
      head_only_(head_only),
      deadline_(base, -1, 0, [this] { on_deadline(); }),
      input_(watch(base, process_.take_input())),
      output_(watch(base, process_.take_output())),
      errors_(watch(base, process_.take_errors())) {
  deadline_.wait(options.timeout);
  if (!input_ || !output_ || !errors_) return;  // no memory: the run then ends at its deadline
  // Close fossil's standard input after everything was written, and also after an error, because
  // fossil does not have to read all of its input.
  bufferevent_setcb(
      input_.get(), nullptr,
      [](bufferevent*, void* self) { static_cast<FossilRun*>(self)->input_.reset(); },
      [](bufferevent*, short, void* self) { static_cast<FossilRun*>(self)->input_.reset(); }, this);
  bufferevent_write(input_.get(), head.data(), head.size());
  bufferevent_write_buffer(input_.get(), body);
  bufferevent_enable(input_.get(), EV_WRITE);
  bufferevent_setcb(
      output_.get(), [](bufferevent*, void* self) { static_cast<FossilRun*>(self)->on_output(); },
      nullptr,
      [](bufferevent*, short, void* self) { static_cast<FossilRun*>(self)->on_output_end(); },
      this);
  bufferevent_setwatermark(output_.get(), EV_READ, 0, kMaxRead);
  bufferevent_enable(output_.get(), EV_READ);
  bufferevent_setwatermark(errors_.get(), EV_READ, 0, kMaxErrors);
  bufferevent_enable(errors_.get(), EV_READ);
}

void FossilRun::pause() {
  if (state_ == State::kExiting || std::exchange(is_paused_, true)) return;
  bufferevent_disable(output_.get(), EV_READ);
  deadline_.stop_waiting();
}

void FossilRun::resume() {
  if (state_ == State::kExiting || !std::exchange(is_paused_, false)) return;
  deadline_.wait(options_.timeout);
  bufferevent_enable(output_.get(), EV_READ);
}

void FossilRun::cancel() {
  state_ = State::kExiting;
  deadline_.wait(std::chrono::milliseconds{0});
}

void FossilRun::finish() {
  if (!std::exchange(is_finished_, true)) owner_.on_finished(*this);
}

void FossilRun::on_output() {
  if (state_ == State::kHead && !take_head()) return;
  take_body();
}

bool FossilRun::take_head() {
  evbuffer* const input = bufferevent_get_input(output_.get());
  const std::size_t peeked = std::min(evbuffer_get_length(input), kMaxHead);
  const auto* start =
      reinterpret_cast<const char*>(evbuffer_pullup(input, static_cast<ev_ssize_t>(peeked)));
  const std::string_view bytes(start, start == nullptr ? 0 : peeked);
  const std::size_t size = http::header_block_size(bytes);
  if (size == std::string_view::npos) {
    if (peeked == kMaxHead) fault(Fault::kBroken, "the headers of its reply are too long");
    return false;
  }
  auto header = http::parse_reply_header(as_cgi(bytes.substr(0, size)));
  if (!header) {
    fault(Fault::kBroken, base::printable(header.error().message));
    return false;
  }
  evbuffer_drain(input, size);
  declared_ = header->content_length;
  if (declared_.value_or(0) > options_.max_reply) {
    fault(Fault::kBroken, fmt::format("its reply of {} bytes exceeds pages.max_reply", *declared_));
    return false;
  }
  state_ = State::kBody;
  owner_.on_head(*this, *header);
  return true;
}

void FossilRun::take_body() {
  evbuffer* const input = bufferevent_get_input(output_.get());
  const std::size_t before = evbuffer_get_length(input);
  if (state_ != State::kBody) return evbuffer_drain(input, before), void();
  if (before > 0) {
    received_ += before;
    if (received_ > options_.max_reply) {
      return fault(Fault::kBroken,
                   fmt::format("its reply is longer than {} bytes", options_.max_reply));
    }
    if (received_ > declared_.value_or(received_)) {
      return fault(Fault::kBroken, "its reply is longer than its Content-Length");
    }
    owner_.on_body(*this, input);
  }
  const bool is_all = declared_ && (received_ == *declared_ || head_only_);
  if (state_ == State::kBody && is_all) complete();
}

void FossilRun::complete() {
  state_ = State::kExiting;
  deadline_.wait(kExitTime);
  owner_.on_complete(*this);
}

void FossilRun::on_output_end() {
  if (state_ == State::kBody) {
    take_body();
    if (state_ == State::kBody && !declared_) complete();
  }
  if (state_ != State::kExiting) fault(Fault::kBroken, "its reply ended early");
  output_.reset();
  finish();
}

void FossilRun::on_exit(int status) {
  process_.reaped();
  if (status != 0) status_ = in_words(status);
}

void FossilRun::fault(Fault fault, std::string reason) {
  if (state_ == State::kExiting) return;
  state_ = State::kExiting;
  if (!status_.empty()) reason += fmt::format("; {}", status_);
  if (const std::string text = take_errors(); !text.empty()) {
    reason += "; standard error: " + text;
  }
  deadline_.wait(std::chrono::milliseconds{0});
  owner_.on_fault(*this, fault, reason);
}

std::string FossilRun::take_errors() {
  if (!errors_) return {};
  evbuffer* const said = bufferevent_get_input(errors_.get());
  std::string text(evbuffer_get_length(said), '\0');
  evbuffer_remove(said, text.data(), text.size());
  // The event loop might not have read the end yet.
  std::array<char, kMaxErrors> rest{};
  const ssize_t size = ::read(bufferevent_getfd(errors_.get()), rest.data(), rest.size());
  if (size > 0) text.append(rest.data(), static_cast<std::size_t>(size));
  while (text.ends_with('\n')) text.pop_back();
  return base::with_masked_secrets(base::printable(text, 500));
}

void FossilRun::on_deadline() {
  if (state_ != State::kExiting) {
    fault(Fault::kTimeout, fmt::format("it took longer than {}", base::in_words(options_.timeout)));
  }
  finish();
}

}  // namespace quarry::pages
