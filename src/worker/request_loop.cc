#include "request_loop.h"

#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <exception>
#include <utility>

#include "fastcgi/stop_signal.h"
#include "quarry/base/log.h"
#include "quarry/base/log_request.h"
#include "quarry/base/number.h"
#include "quarry/base/split.h"
#include "quarry/base/url.h"
#include "quarry/http/parameters.h"
#include "quarry/http/request_id.h"
#include "quarry/worker/failed_request.h"

namespace quarry::worker {
namespace {

using base::LogLevel;
using base::printable;

Reply answer_safely(Handler& handler, FastCgiExchange& exchange, scoreboard::Slot& slot) {
  try {
    return handler.answer(exchange.request(), exchange, slot);
  } catch (const std::exception& error) {
    Reply reply = text_reply(500, "internal error");
    reply.error = error.what();
    return reply;
  }
}

/// Logs a connection without a valid request.
void log_bad_connection(const base::Fd& fd, const Error& error) {
  if (error.code == ErrorCode::kNotFound) return;
  // If libfcgi has already closed the connection, its peer is unknown.
  const std::string peer = fd ? peer_of(fd.get()) : "a client";
  base::log(LogLevel::kNotice, "connection from {} closed: {}", peer, error.message);
}

bool is_failure(const Reply& reply) {
  return !reply.error.empty() || reply.status >= 400;
}

scoreboard::Outcome outcome_of(const Request& request, const Reply& reply) {
  const std::size_t size = request.method == "HEAD" ? 0 : reply.body.size();
  return {.user = reply.user,
          .operation = reply.operation,
          .reply_size = size,
          .bytes_in = reply.synced_in.value_or(0),
          .bytes_out = reply.synced_in ? size : 0,
          .artifacts_in = reply.artifacts_in,
          .artifacts_out = reply.artifacts_out,
          .is_refusal = is_failure(reply),
          .is_failed_login = !reply.failed_login.empty()};
}

/// Returns the record of the failed REPLY for the status page. The record contains the text that
/// the client gets. The cause of a server fault is only in the log, under the request's ID.
scoreboard::Refusal refusal_record_of(const Request& request, const Reply& reply,
                                      std::string_view id) {
  scoreboard::Refusal refusal;
  refusal.status = static_cast<std::uint32_t>(reply.status);
  refusal.of_request(request.method, request.uri_or_path());
  const bool is_text = reply.status >= 400 && reply.content_type.starts_with("text/plain");
  const std::string_view text = is_text ? reply.body : reply.error;
  const bool names_file = !reply.repository.empty() && text.contains(reply.repository);
  if (reply.is_fault || names_file) {
    refusal.text.assign(fmt::format("a fault of the server: see request {} in the log", id));
  } else {
    refusal.text.assign(text.substr(0, text.find('\n')));
  }
  return refusal;
}

/// Returns whether to show REPLY on the status page. 404s are not shown, because scanners cause
/// many 404s, which would displace all other entries.
bool is_shown_on_status_page(const Reply& reply) {
  return is_failure(reply) && (reply.is_fault || reply.status != 404);
}

std::int64_t micros(const timeval& time) {
  return std::int64_t{time.tv_sec} * 1000000 + time.tv_usec;
}

/// Collects data for the access log while a request is answered.
class AccessRecorder {
 public:
  /// Creates a recorder. If LOG is null, the recorder does nothing. LOG and POOL must outlive this
  /// object.
  AccessRecorder(base::AccessLog* log, std::string_view pool)
      : log_(log), pool_(pool), parent_(::getppid()) {}
  /// Called when a request begins.
  void begin() {
    if (log_ != nullptr && log_->format().wants_usage()) ::getrusage(RUSAGE_SELF, &before_);
  }
  /// Writes the record of an answered request. STATE is the slot's state after the request.
  void end(const Request& request, const Reply& reply, const scoreboard::SlotState& state) {
    if (log_ == nullptr) return;
    std::string_view query = request.uri_or_path();
    base::AccessRecord record;
    record.pool = pool_;
    record.pid = static_cast<pid_t>(state.pid);
    record.parent = parent_;
    record.written = scoreboard::wall_micros();
    record.received = record.written - (scoreboard::monotonic_micros() - state.request_started);
    record.duration = state.request_duration;
    record.remote_address = request.remote_address;
    record.user = reply.user;
    record.method = request.method;
    record.path = base::take_until(query, '?');
    record.query = query;
    if (record.query.empty()) record.query = request.variable(http::parameter::kQueryString);
    record.content_length = state.content_length;
    record.status = reply.status;
    record.reply_size = reply.body.size();
    record.repository = reply.repository;
    record.operation = reply.operation;
    record.request_id = state.request_id.view();
    record.variables = request.variables;
    if (log_->format().wants_usage()) add_usage(record);
    std::string header;
    if (log_->format().wants_reply_header()) record.reply_header = header = header_of(reply);
    log_->write(record);
  }

 private:
  void add_usage(base::AccessRecord& record) const {
    rusage after{};
    ::getrusage(RUSAGE_SELF, &after);
    record.cpu_user = micros(after.ru_utime) - micros(before_.ru_utime);
    record.cpu_system = micros(after.ru_stime) - micros(before_.ru_stime);
    record.memory_peak = static_cast<std::uint64_t>(after.ru_maxrss) << 10;
  }

  base::AccessLog* log_;
  std::string_view pool_;
  pid_t parent_;
  rusage before_{};
};

void schedule_idle_work(Acceptor& acceptor, Handler& handler) {
  if (!handler.has_idle_work()) return;
  acceptor.when_idle([&acceptor, &handler] {
    handler.work_idly();
    schedule_idle_work(acceptor, handler);
  });
}

class Server {
 public:
  Server(Acceptor& acceptor, Handler& handler, scoreboard::Slot& slot, const LoopOptions& options)
      : acceptor_(acceptor),
        handler_(handler),
        slot_(slot),
        options_(options),
        recorder_(options.access_log, options.pool) {}

  void serve(Connection connection) {
    // Publish a kept connection on the scoreboard. A new connection was already published when it
    // was accepted.
    if (slot_.state().stage != scoreboard::Stage::kAccepted) slot_.accepted();
    slot_.reading_headers();
    recorder_.begin();
    bool may_keep = false;
    bool has_unread = false;
    {
      FastCgiExchange exchange(connection.fd, options_.timeouts);
      if (auto head = exchange.await_head(); !head) {
        const bool is_late = head.error().code == ErrorCode::kBusy;
        if (is_late && options_.parks_incomplete) return acceptor_.park(std::move(connection));
        return log_bad_connection(connection.fd, head.error());
      }
      if (handler_.may_pass_on() && pass_on(exchange)) return acceptor_.forget(connection);
      if (auto head = exchange.read_head(); !head) {
        return log_bad_connection(connection.fd, head.error());
      }
      answer(exchange);
      may_keep = exchange.may_keep();
      has_unread = exchange.has_unread();
    }
    if (may_keep) return acceptor_.keep(std::move(connection));
    if (has_unread && !options_.parks_incomplete) drain(connection.fd.get());
  }
  /// Continues with the reopened logs, if there was a SIGUSR1.
  void take_reopened_logs() const {
    if (take_reopen_request() && options_.reopen_logs) options_.reopen_logs();
  }
  std::size_t served() const { return served_; }

 private:
  bool pass_on(const FastCgiExchange& exchange) {
    return exchange.is_passed_on([this](const Request& request, int connection) {
      if (!handler_.pass_on(request, connection)) return false;
      show(request, "");
      slot_.end({.user = {}, .operation = "page"});
      slot_.finished();
      ++served_;
      return true;
    });
  }

  void show(const Request& request, std::string_view id) {
    slot_.info({request.method, request.uri_or_path(),
                base::parse_number<std::uint64_t>(request.content_length).value_or(0), id});
  }

  void answer(FastCgiExchange& exchange) {
    const Request& request = exchange.request();
    const std::string id = http::request_id_from(request.variable(http::parameter::kRequestId));
    const base::LogRequest logged(id);
    show(request, id);
    exchange.watch_body([this](std::size_t size) { slot_.received(size); });
    Reply answered = answer_safely(handler_, exchange, slot_);
    if (is_shown_on_status_page(answered)) slot_.refused(refusal_record_of(request, answered, id));
    const http::ErrorPlace place =
        answered.status < 400 ? http::ErrorPlace() : handler_.place_of(request);
    Reply reply = for_browser(request, std::move(answered), place);
    compress_page(request, reply);
    reply.headers += fmt::format("{}: {}\r\n", http::kRequestIdHeader, id);
    slot_.end(outcome_of(request, reply));
    const bool is_sent = exchange.send(reply);
    slot_.finished();
    ++served_;
    take_reopened_logs();
    log_failed_request({.address = request.remote_address,
                        .method = request.method,
                        .uri = request.uri,
                        .status = reply.status,
                        .is_fault = reply.is_fault,
                        .error = reply.error,
                        .failed_login = reply.failed_login});
    if (!is_sent && !is_failure(reply)) {
      base::log(LogLevel::kNotice, "client {}: {} \"{}\": the web server did not read the reply",
                printable(request.remote_address), printable(request.method),
                printable(base::without_secrets(request.uri)));
    }
    recorder_.end(request, reply, slot_.state());
  }

  Acceptor& acceptor_;
  Handler& handler_;
  scoreboard::Slot& slot_;
  const LoopOptions& options_;
  AccessRecorder recorder_;
  std::size_t served_ = 0;
};

}  // namespace

void serve_requests(Acceptor& acceptor, Handler& handler, scoreboard::Slot& slot,
                    const LoopOptions& options) {
  Server server(acceptor, handler, slot, options);
  acceptor.on_return([&slot, &options](bool has_connection) {
    // The slot must change before the master is notified. If the order were reversed, the master
    // might still count this child as idle.
    if (has_connection) slot.accepted();
    if (options.child_accept < 0) return;
    const pid_t pid = ::getpid();
    // Ignore an error: if the pipe is full, the master will wake up anyway.
    [[maybe_unused]] const auto ignored = ::write(options.child_accept, &pid, sizeof pid);
  });
  slot.accepting();
  bool is_used_up = false;
  for (;;) {
    auto connection = acceptor.next();
    server.take_reopened_logs();
    if (!connection && acceptor.was_woken()) continue;
    if (!connection) break;
    server.serve(std::move(*connection));
    handler.work_after_reply();
    if (options.max_requests > 0 && server.served() >= options.max_requests) {
      is_used_up = true;
      break;
    }
    schedule_idle_work(acceptor, handler);
    slot.accepting();
  }
  while (auto connection = acceptor.last_kept()) server.serve(std::move(*connection));
  if (auto connection = acceptor.last_new(/*was_busy=*/is_used_up)) {
    server.serve(std::move(*connection));
  }
  handler.work_idly();
}

}  // namespace quarry::worker
