#include "exchange.h"

#include <algorithm>
#include <utility>

#include "quarry/base/number.h"

namespace quarry::sync {
namespace {

using artifact::HashName;

/// Minimum number of unclustered artifacts for which clusters are made. Clusters save work for the
/// server and all clients.
constexpr std::size_t kClusterThreshold = 100;
constexpr std::int64_t kHookEmbargoSeconds = 60;
// Number of cards between two checks of the time limit.
constexpr std::size_t kCardsBetweenClockReads = 64;

std::unexpected<Error> denied(const char* what) {
  return fail(ErrorCode::kDenied, std::string("not authorized to ") + what);
}

}  // namespace

Exchange::Exchange(repository::Repository& repository, const SessionOptions& options,
                   const Request& request, Bound& bound, repository::Receipt* receipt)
    : repository_(repository),
      options_(options),
      request_(request),
      bound_(bound),
      receipt_(receipt),
      sync_user_(repository, options.single_login, request.logins),
      intake_(repository, receipt, sync_user_, request.remote_address),
      supply_(repository, bound, writer_),
      unversioned_(repository, sync_user_, intake_, supply_, writer_),
      configuration_(repository, sync_user_, intake_, writer_),
      pragmas_(repository, sync_user_, intake_, writer_, request.locks, request.own_url) {}

Result<void> Exchange::announce() {
  // Do not send the catalogue after a legacy clone, whose reply already contains the names of all
  // artifacts.
  if (wants_catalogue_ && !(is_clone_ && clone_version_ == 0)) {
    return supply_.announce_all(client_has_);
  }
  supply_.announce(client_has_);
  if (wants_clusters_) supply_.announce_clusters(client_has_);
  return {};
}

Result<Exchange::Outcome> Exchange::run(std::string_view cards, Stops stops) {
  reader_ = CardReader(cards, {.max_cards = options_.max_cards});
  if (options_.all_rights) sync_user_.trust();
  sync_user_.remote_user(request_.remote_user);
  QUARRY_TRY(sync_user_.login_cookie(request_.cookie, cards));
  while (true) {
    QUARRY_TRY_ASSIGN(const bool more, reader_.next());
    if (!more) break;
    if (tally_.card(reader_.type())) report_progress("reading cards");
    if (reader_.count() % kCardsBetweenClockReads == 0) QUARRY_TRY(bound_.check());
    QUARRY_TRY(handle());
    if (intake_.needs_receipt()) return Outcome::kNeedsReceipt;
  }
  if (private_refused_) {
    // Include the project code in the refusal of a clone, because the client cannot log in before
    // it knows this code.
    clone_refused_ = is_clone_;
    return denied("sync private content");
  }
  client_has_.seal();
  if (may_push_) QUARRY_TRY(intake_.mention(client_has_));
  if (intake_.needs_receipt()) return Outcome::kNeedsReceipt;
  if (stops.for_hosts && receipt_ == nullptr) {
    QUARRY_TRY_ASSIGN(const bool is_behind, this->is_behind());
    if (is_behind) return Outcome::kIsBehind;
  }
  if (stops.for_clusters && receipt_ == nullptr && may_pull_ && calls_for_clusters()) {
    return Outcome::kWantsClusters;
  }
  supply_.set_client(client_, private_session_);
  report_progress("answering");
  if (is_clone_ && !is_clone_by_name()) {
    QUARRY_TRY(clone_version_ >= 2 ? supply_.clone(clone_version_, clone_first_)
                                   : supply_.clone_by_name());
  }
  QUARRY_TRY(supply_.answer_wanted(client_has_));
  if (is_clone_by_name()) QUARRY_TRY(supply_.continue_clone(clone_first_ > 1, client_has_));
  if (may_push_) QUARRY_TRY(finish_push());
  if (may_pull_) QUARRY_TRY(announce());
  pragmas_.finish();
  return Outcome::kDone;
}

Result<void> Exchange::handle() {
  switch (reader_.type()) {
    case CardType::kIgot:
      return igot();
    case CardType::kFile:
    case CardType::kCfile:
      return file();
    case CardType::kGimme:
      return gimme();
    case CardType::kPragma:
      return pragma();
    case CardType::kPull:
      return pull();
    case CardType::kPush:
      return push();
    case CardType::kLogin:
      QUARRY_TRY(bound_.check());  // login() is slow, because it hashes the rest of the body
      return sync_user_.login(LoginCard::of(reader_), reader_.rest());
    case CardType::kClone:
      return clone();
    case CardType::kPrivate:
      return private_next();
    case CardType::kConfig:
      return configuration_.receive(reader_);
    case CardType::kReqconfig:
      configuration_.request(reader_);
      return {};
    case CardType::kUvfile:
      return unversioned_.file(reader_);
    case CardType::kUvgimme:
      return unversioned_.gimme(reader_);
    case CardType::kCookie:
      if (request_.hosts != nullptr) cookie_ = HostCookie::parse(reader_[1]);
      return {};
    default:
      return {};
  }
}

Result<void> Exchange::clone() {
  std::uint64_t version = 0;
  std::uint64_t first = 0;
  if (reader_.size() == 3) {
    const auto version_word = base::parse_number<std::uint64_t>(reader_[1]);
    const auto first_word = base::parse_number<std::uint64_t>(reader_[2]);
    if (!version_word || !first_word || *first_word > INT64_MAX) {
      return std::unexpected(reader_.misshapen());
    }
    version = *version_word;
    first = *first_word;
  }
  if (!sync_user_.may(Right::kClone)) {
    clone_refused_ = true;
    return denied("clone");
  }
  is_clone_ = true;
  unversioned_.offer_to_clone();
  clone_version_ = version >= 2 ? version : 0;
  clone_first_ = static_cast<repository::Rid>(first);
  // The reply to a legacy clone contains only the names of the artifacts, so the client has to pull
  // the artifacts.
  if (clone_version_ == 0) may_pull_ = true;
  return {};
}

Result<void> Exchange::check_codes() {
  if (reader_[2] != repository_.settings().project_code())
    return fail(ErrorCode::kDenied, "wrong project");
  if (options_.refuse_own_server_code && reader_[1] == repository_.settings().server_code()) {
    return fail(ErrorCode::kDenied, "server loop: the client sent this server's own server code");
  }
  return {};
}

Result<void> Exchange::pull() {
  QUARRY_TRY(check_codes());
  if (!sync_user_.may(Right::kRead)) return denied("read");
  may_pull_ = true;
  return {};
}

Result<void> Exchange::push() {
  QUARRY_TRY(check_codes());
  asked_push_ = true;
  if (sync_user_.may(Right::kWrite)) {
    may_push_ = true;
    return {};
  }
  if (!may_pull_) return denied("write");
  // The user is only allowed to read. After this message, the client only pulls.
  writer_.message("pull only - not authorized to push");
  return {};
}

Result<void> Exchange::file() {
  if (!may_push_) return denied("write");
  if (++artifacts_ > options_.max_artifacts) {
    return fail(ErrorCode::kLimit, "more than {} artifacts in one request", options_.max_artifacts);
  }
  QUARRY_TRY(bound_.check());
  const bool is_private = std::exchange(next_is_private_, false);
  client_has_.add(reader_[1], kMentionKnown);
  return intake_.file(reader_, is_private);
}

Result<void> Exchange::igot() {
  if (!HashName::parse(reader_[1])) return std::unexpected(reader_.misshapen());
  if (may_push_) client_has_.add(reader_[1], reader_[2] == "1" ? std::uint8_t{0} : kMentionPublic);
  return {};
}

Result<void> Exchange::gimme() {
  if (!HashName::parse(reader_[1])) return std::unexpected(reader_.misshapen());
  if (may_pull_ || is_clone_by_name()) supply_.want(reader_[1]);
  return {};
}

Result<void> Exchange::private_next() {
  if (!sync_user_.may(Right::kPrivate)) return denied("sync private content");
  next_is_private_ = true;
  return {};
}

Result<void> Exchange::pragma() {
  if (reader_[1] == "client-version" && reader_.size() >= 3) {
    client_.number = base::parse_number<std::uint64_t>(reader_[2]).value_or(0);
    if (reader_.size() >= 5) {
      client_.date = base::parse_number<std::uint64_t>(reader_[3]).value_or(0);
      writer_.server_version();
    }
    supply_.set_client(client_, private_session_);
  } else if (reader_[1] == "send-private") {
    private_session_ = sync_user_.may(Right::kPrivate);
    // Do not fail yet: if the request also has a `clone` card that is refused, the client gets the
    // error for that card.
    private_refused_ = !private_session_;
  } else if (reader_[1] == "uv-hash" && HashName::parse(reader_[2])) {
    unversioned_.compare(reader_[2]);
  } else if (reader_[1] == "send-catalog") {
    wants_catalogue_ = true;
  } else if (reader_[1] == "req-clusters") {
    wants_clusters_ = true;
  } else {
    return pragmas_.read(reader_);
  }
  return {};
}

bool Exchange::is_clone_by_name() const {
  if (!is_clone_ || clone_version_ < 2 || !cookie_) return false;
  return clone_first_ > 1 ? cookie_->host != request_.hosts->host() : cookie_->is_by_name;
}

/// Only users can have pushed, so nobody else can make a worker wait.
Result<bool> Exchange::is_behind() {
  if (!may_pull_ || !cookie_ || cookie_->position.sequence == 0 || !sync_user_.login_name() ||
      cookie_->host == request_.hosts->host()) {
    return false;
  }
  repository::ReplicaTables tables(repository_);
  QUARRY_TRY_ASSIGN(const bool exist, tables.exist());
  if (!exist) return false;
  QUARRY_TRY_ASSIGN(const repository::ReplicaPosition position, tables.position());
  return position.created == cookie_->position.created &&
         position.sequence < cookie_->position.sequence;
}

std::optional<HostCookie> Exchange::cookie(
    const std::optional<repository::ReplicaPosition>& position) const {
  if (is_clone_) return HostCookie{request_.hosts->host(), {}, is_clone_by_name()};
  if (!position) return std::nullopt;
  return HostCookie{request_.hosts->host(), *position};
}

bool Exchange::calls_for_clusters() {
  return repository_.names().unclustered().size() >= kClusterThreshold;
}

Result<void> Exchange::finish_push() {
  std::size_t room = options_.max_gimme;
  bool asks_for_more = false;
  const auto ask = [&](const HashName& name) {
    if (room == 0) return;
    writer_.gimme(name.str());
    asks_for_more = true;
    --room;
  };
  for (const HashName& name :
       repository_.names().phantoms(room + supply_.wanted(), private_session_)) {
    // A client that requests an artifact does not have it, so do not request it from this client.
    if (!supply_.was_wanted(name.str())) ask(name);
  }
  std::ranges::for_each(intake_.to_be_proven(), ask);
  const bool has_embargo = repository_.settings().get("hook-embargo").has_value();
  if (receipt_ == nullptr) {
    leaves_embargo_ = !asks_for_more && has_embargo;
    return {};
  }
  repository::Receipt& receipt = *intake_.receipt();
  if (asks_for_more) {
    // Set an embargo, which delays hooks until the push is complete.
    const std::int64_t now = repository_.options().clock->now().value / 1000;
    return receipt.set_config("hook-embargo", std::to_string(now + kHookEmbargoSeconds));
  }
  if (has_embargo) QUARRY_TRY(receipt.set_config("hook-embargo", std::nullopt));
  // Clusters are not made during an incomplete push, because they would contain only a part of the
  // new artifacts.
  if (calls_for_clusters()) QUARRY_TRY(receipt.make_clusters());
  return {};
}

std::string_view Exchange::operation() const {
  if (is_clone_ || clone_refused_) return "clone";
  if (asked_push_) return may_pull_ ? "sync" : "push";
  return may_pull_ ? "pull" : "";
}

void Exchange::report_progress(std::string_view phase) const {
  if (!request_.on_progress) return;
  const std::string what = tally_.in(phase);
  request_.on_progress({.user = sync_user_.name(), .operation = operation(), .what = what});
}

SessionFigures Exchange::figures() const {
  SessionFigures figures;
  figures.user = sync_user_.name();
  figures.failed_login = sync_user_.failed_login();
  figures.operation = operation();
  figures.artifacts_in = intake_.stored();
  figures.has_news = intake_.has_news();
  figures.artifacts_out = supply_.sent();
  figures.cards = reader_.count();
  return figures;
}

}  // namespace quarry::sync
