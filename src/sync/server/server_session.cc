#include "quarry/sync/server_session.h"

#include <fmt/core.h>

#include <chrono>
#include <exception>
#include <optional>
#include <utility>

#include "cards/body.h"
#include "cards/bound.h"
#include "early_login.h"
#include "exchange.h"
#include "quarry/base/log.h"

namespace quarry::sync {
namespace {

using repository::Receipt;
using repository::Repository;
using Outcome = Exchange::Outcome;

/// Returns whether an error with CODE is the fault of the server or its repository, not of the
/// request.
bool is_fault(ErrorCode code) {
  return code == ErrorCode::kIo || code == ErrorCode::kCorrupt || code == ErrorCode::kNoSpace ||
         code == ErrorCode::kReadOnly;
}

// Fossil's message to a client if the server does not support the schema of the repository.
constexpr std::string_view kUnknownSchema = "database schema is out-of-date on the server.";

// Errors of pushes to a replicated repository.
constexpr std::string_view kNotStored =
    "the push was not stored, because the other hosts cannot be reached: push again later";
constexpr std::string_view kNotConfirmed =
    "the push is stored on this host, but the other hosts have not confirmed it: push again later";

/// Returns the text for the client. Problems with the repository, and the repository's path, are
/// written only to the log.
std::string client_message(const Error& error) {
  switch (error.code) {
    case ErrorCode::kBusy:
      return "the repository is busy: try again in a moment";
    case ErrorCode::kReadOnly:
      return "the repository is read-only on this server";
    case ErrorCode::kNoSpace:
      return "the server's disk is full";
    case ErrorCode::kIo:
    case ErrorCode::kCorrupt:
      return "the server cannot read or write the repository: see its log";
    default:
      return error.message;
  }
}

Reply http_error(int status, std::string text) {
  Reply reply{.status = status,
              .content_type = "text/plain; charset=utf-8",
              .body = text + "\n",
              .figures = {}};
  reply.figures.error = std::move(text);
  return reply;
}

Reply make_reply(BodyFormat format, std::string&& cards, SessionFigures&& figures) {
  return {.content_type = std::string(content_type_of(format)),
          .body = encode_body(format, std::move(cards)),
          .figures = std::move(figures)};
}

/// Runs passes over a request, each in its own transaction, until a pass completes the reply.
class ServerSession {
 public:
  ServerSession(Repository& repository, const SessionOptions& options, const Request& request,
                BodyFormat format)
      : repository_(repository),
        options_(options),
        request_(request),
        format_(format),
        bound_(options, request.has_left) {
    repository_.bound_by([this] { return bound_.is_over(); });
  }
  ~ServerSession() { repository_.bound_by({}); }
  ServerSession(const ServerSession&) = delete;
  ServerSession& operator=(const ServerSession&) = delete;

  /// Returns the refusal if the request is too large for its user, otherwise nullopt. Call before
  /// decompression.
  std::optional<Reply> refuse_too_large() {
    try {
      return check_size();
    } catch (const std::exception& failure) {
      return refuse_failure(failure);
    }
  }

  /// Answers the request with the decoded CARDS.
  Reply process(std::string_view cards) {
    cards_ = cards;
    try {
      return converse();
    } catch (const std::exception& failure) {
      // The exception has already rolled back the transaction, so only the reply has to be made.
      return refuse_failure(failure);
    }
  }

 private:
  std::optional<Reply> check_size() {
    const std::size_t max_size = options_.max_body_without_login;
    const std::size_t size = decoded_size(format_, request_.body);
    // A request that exceeds the limit for all users fails later, when it is decoded.
    if (options_.all_rights || size <= max_size || size > options_.max_body) return std::nullopt;
    SyncUser sync_user(repository_, options_.single_login, request_.logins);
    auto is_users = is_from_user(sync_user, request_, format_, options_.max_body, bound_);
    if (!is_users && is_users.error().code == ErrorCode::kInvalid) {
      return http_error(400, std::move(is_users).error().message);
    }
    if (!is_users) {
      Reply reply = refuse(std::move(is_users).error());
      reply.figures.failed_login = sync_user.failed_login();
      return reply;
    }
    if (*is_users) return std::nullopt;
    return http_error(413,
                      fmt::format("the request is larger than {} bytes: log in first", max_size));
  }

  /// Returns the reply if the repository cannot be read because of FAILURE.
  Reply refuse_failure(const std::exception& failure) {
    if (bound_.is_over()) return refuse(bound_.error());
    base::log(base::LogLevel::kError, "{}: {}", repository_.path().string(), failure.what());
    return refuse({ErrorCode::kIo, "the server cannot read the repository: see its log"});
  }

  Reply converse() {
    auto outcome = read({.for_clusters = true, .for_hosts = request_.hosts != nullptr});
    if (outcome && *outcome == Outcome::kIsBehind) {
      exchange_->report_progress("waiting for changes of other hosts");
      request_.hosts->wait(exchange_->received_cookie()->position.sequence);
      outcome = read({.for_clusters = true});
    }
    if (outcome && *outcome == Outcome::kWantsClusters) {
      try_briefly([](Receipt& receipt) { return receipt.make_clusters(); });
      outcome = read({});
    }
    if (outcome && *outcome == Outcome::kNeedsReceipt) {
      const std::string obstacle = request_.hosts != nullptr ? request_.hosts->obstacle() : "";
      if (!obstacle.empty()) return refuse_for_now(kNotStored, obstacle);
      outcome = receive();
    }
    if (!outcome) return refuse(std::move(outcome).error());
    if (exchange_->leaves_embargo()) {
      try_briefly(
          [](Receipt& receipt) { return receipt.set_config("hook-embargo", std::nullopt); });
    }
    return grant();
  }

  Result<Outcome> read(Exchange::Stops stops) {
    QUARRY_TRY_ASSIGN(const auto snapshot, repository_.snapshot());
    return pass(nullptr, stops);
  }

  /// Stores the whole request. After an error, nothing is stored.
  Result<Outcome> receive() {
    exchange_->report_progress("waiting for the write lock");
    QUARRY_TRY_ASSIGN(Receipt receipt, repository_.receive());
    QUARRY_TRY_ASSIGN(const Outcome outcome, pass(&receipt, {}));
    exchange_->report_progress("committing");
    QUARRY_TRY(receipt.commit());
    return outcome;
  }

  Result<Outcome> pass(Receipt* receipt, Exchange::Stops stops) {
    if (auto known = repository_.check_schema(); !known) {
      knows_schema_ = false;
      return std::unexpected(std::move(known).error());
    }
    exchange_.emplace(repository_, options_, request_, bound_, receipt);
    return exchange_->run(cards_, stops);
  }

  /// Does optional work, unless another process is writing at the moment.
  template <typename Work>
  void try_briefly(Work work) {
    auto receipt = repository_.receive(std::chrono::milliseconds(0));
    if (!receipt) return;
    receipt->set_sender(exchange_->sender());
    // If the commit fails, nothing has changed, and a later request repeats the work.
    if (work(*receipt)) (void)receipt->commit();
  }

  Reply grant() {
    const BodyFormat format = exchange_->is_plain_clone() ? BodyFormat::kPlainClone : format_;
    CardWriter& writer = exchange_->reply();
    if (request_.hosts != nullptr) {
      const auto position = request_.hosts->publish(exchange_->figures());
      if (!position) return refuse_for_now(kNotConfirmed, position.error().message);
      if (const auto cookie = exchange_->cookie(*position)) writer.card({"cookie", cookie->text()});
    }
    writer.timestamp(now(), 0);
    return make_reply(format, writer.take(), exchange_->figures());
  }

  /// Returns the reply to a push that can succeed when other hosts can be reached again. Clients get
  /// the error WHAT; the log contains WHY.
  Reply refuse_for_now(std::string_view what, const std::string& why) {
    CardWriter writer;
    writer.error(what);
    writer.timestamp(now(), 1);
    SessionFigures figures = exchange_->figures();
    figures.error = why;
    figures.is_fault = true;
    Reply reply = make_reply(format_, writer.take(), std::move(figures));
    reply.may_retry = true;
    return reply;
  }

  Reply refuse(Error error) {
    // If the time limit has caused the error, report the time limit instead.
    if (bound_.is_over()) error = bound_.error();
    repository_.bound_by({});
    CardWriter writer;
    SessionFigures figures;
    if (exchange_) {
      figures = exchange_->figures();
      figures.artifacts_in = figures.artifacts_out = 0;
      figures.has_news = false;
      // A client that begins a clone needs the project code in this reply to log in.
      if (exchange_->refused_clone()) {
        writer.push(repository_.settings().server_code(), repository_.settings().project_code());
      }
    }
    figures.is_fault = is_fault(error.code) || !knows_schema_;
    writer.error(knows_schema_ ? client_message(error) : kUnknownSchema);
    writer.timestamp(now(), 1);
    figures.error = std::move(error.message);
    return make_reply(format_, writer.take(), std::move(figures));
  }

  base::UnixMillis now() const { return repository_.options().clock->now(); }

  Repository& repository_;
  const SessionOptions& options_;
  const Request& request_;
  std::string_view cards_;
  BodyFormat format_;
  Bound bound_;
  std::optional<Exchange> exchange_;
  bool knows_schema_ = true;
};

}  // namespace

Reply refusal_reply(Repository& repository, std::string_view content_type, const std::string& why) {
  const auto format = request_format(content_type);
  if (!format) return http_error(415, "not a sync request");
  CardWriter writer;
  writer.message(why);
  writer.error(why);
  writer.timestamp(repository.options().clock->now(), 1);
  SessionFigures figures;
  figures.error = why;
  return make_reply(*format, writer.take(), std::move(figures));
}

Reply answer(Repository& repository, const SessionOptions& options, const Request& request) {
  const auto format = request_format(request.content_type);
  if (!format) return http_error(415, "not a sync request");
  ServerSession session(repository, options, request, *format);
  if (auto refused = session.refuse_too_large()) return *std::move(refused);
  std::string storage;
  const auto cards = decode_body(*format, request.body, options.max_body, storage);
  if (!cards) {
    const bool too_large = cards.error().code == ErrorCode::kLimit;
    return http_error(too_large ? 413 : 400, cards.error().message);
  }
  return session.process(*cards);
}

}  // namespace quarry::sync
