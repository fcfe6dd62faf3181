#include "quarry/sync/client_session.h"

#include <fmt/core.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <exception>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <utility>

#include "cards/body.h"
#include "cards/card_writer.h"
#include "cards/login_card.h"
#include "client_offer.h"
#include "client_reply.h"
#include "client_unversioned.h"
#include "client_wants.h"
#include "quarry/artifact/digest.h"
#include "quarry/base/hex.h"

namespace quarry::sync {

namespace {

// Number of consecutive replies without an artifact after which a clone fails. Normally, each reply
// contains at least one artifact, even if the server's limit is low.
constexpr int kMaxEmptyReplies = 100;
constexpr std::int64_t kDefaultMaxUpload = 250000;

/// Returns the limit on one request in bytes (the max-upload setting). Artifacts that do not fit
/// are sent in the next request.
std::size_t max_upload(repository::Repository& repository) {
  const std::int64_t bytes = repository.settings().get_int("max-upload", kDefaultMaxUpload);
  return static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
}

}  // namespace

struct ClientSession::State {
  State(repository::Repository& file, ClientOptions choices)
      : repository(file),
        options(std::move(choices)),
        wants(file, options.with_private),
        offer(file, options.with_private, options.verily, max_upload(file)),
        may_push(options.push),
        clone_next(options.clone ? 1 : 0),
        wants_settings(options.clone),
        is_probing(options.clone && options.with_private && !options.user.empty()),
        unversioned(file,
                    {.asks = options.with_unversioned,
                     .pulls = options.clone || (options.with_unversioned && options.pull),
                     .pushes = options.with_unversioned && options.push},
                    max_upload(file)),
        sender{.uid = options.uid, .login_nonce = {}, .address = {}} {}

  Result<std::string> cards();
  ClientRequest request();
  Result<void> read(std::string_view content_type, std::string_view body);
  Result<void> refused(const ClientReply& reply);
  Result<void> continue_clone(const ClientReply& reply);
  Result<void> complete_clone();
  /// Returns whether the next request has to request artifacts by name. A clone requests artifacts
  /// by name only if delta sources are missing, because the user of the clone might not have the
  /// right to read.
  bool has_to_pull() {
    if (clone_next != 0) return false;
    return options.clone ? repository.has_waiting() : options.pull;
  }

  repository::Repository& repository;
  ClientOptions options;
  ClientWants wants;
  ClientOffer offer;
  bool may_push;
  std::uint64_t clone_next;  // 0 if not cloning, or if all artifacts have arrived
  int empty_replies = 0;     // consecutive empty replies, while cloning
  bool wants_settings;       // true until a clone has requested the settings
  // The next request requests only the project code, which is needed for a login. Private artifacts
  // are requested later, because without a login the whole request would be refused.
  bool is_probing;
  bool asked_settings = false;
  bool logged_in = false;  // the last request had a login card
  bool login_failed = false;
  bool is_done = false;
  std::string last_cards;  // the cards of the last request, without the login
  ClientUnversioned unversioned;
  repository::Sender sender;
  ClientFigures figures;
  std::vector<std::string> messages;
};

namespace {

/// A position after the last artifact of any server.
constexpr std::string_view kBeyondTheEnd = "2000000000";

/// Returns the format of a reply with CONTENT_TYPE, or nullopt if a reply cannot have this type.
std::optional<BodyFormat> reply_format(std::string_view content_type) {
  if (content_type.starts_with("application/x-fossil-uncompressed")) return BodyFormat::kPlainClone;
  return request_format(content_type);
}

/// Returns whether PASSWORD has the form of the hash that the server stores.
bool is_stored_secret(std::string_view password) {
  return password.size() == 40 &&
         password.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// Writes a comment that is unique to this request, so that the nonce of a login is unique.
void write_salt(CardWriter& writer) {
  std::array<unsigned char, 20> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    throw std::runtime_error("cannot generate random numbers");
  }
  writer.card({"#", base::to_hex(bytes)});
}

}  // namespace

/// Returns the cards of the next request, without the login.
Result<std::string> ClientSession::State::cards() {
  QUARRY_TRY_ASSIGN(const auto snapshot, repository.snapshot());
  QUARRY_TRY(repository.check_schema());
  CardWriter writer;
  writer.card({"pragma", "client-version", "22100", "20230226", "192424"});
  if (const auto cookie = repository.settings().get("cookie"); cookie && !cookie->empty()) {
    writer.card({"cookie", *cookie});
  }
  if (is_probing) {
    writer.card({"clone", "3", kBeyondTheEnd});
    write_salt(writer);
    return writer.take();
  }
  if (options.with_private) writer.card({"pragma", "send-private"});
  const std::string_view server = repository.settings().server_code();
  const std::string_view project = repository.settings().project_code();
  if (clone_next != 0) {
    writer.card({"clone", "3", std::to_string(clone_next)});
  } else if (has_to_pull()) {
    writer.card({"pull", server, project});
    if (options.verily && figures.round_trips == 0) {
      writer.card({"pragma", "send-catalog"});
      writer.card({"pragma", "req-clusters"});
    }
    wants.ask(writer);
  }
  asked_settings = wants_settings && clone_next == 0;
  if (asked_settings) writer.card({"reqconfig", "/all"});
  if (may_push) {
    writer.card({"push", server, project});
    QUARRY_TRY(offer.write(writer));
  }
  if (clone_next == 0) QUARRY_TRY(unversioned.write(writer));
  write_salt(writer);
  return writer.take();
}

/// Handles the refusal of a request. The first request of a clone does not have a login, because
/// the project code is not known yet. If the refusal contains the project code, the session
/// continues with a login.
Result<void> ClientSession::State::refused(const ClientReply& reply) {
  const bool can_log_in =
      !logged_in && !options.user.empty() && !repository.settings().project_code().empty();
  if (can_log_in && reply.received_project_code()) {
    is_probing = false;
    return {};
  }
  login_failed = logged_in && *reply.error() == "login failed";
  return fail(ErrorCode::kDenied, "the server says: " + *reply.error());
}

Result<void> ClientSession::State::continue_clone(const ClientReply& reply) {
  if (reply.clone_next() && *reply.clone_next() > clone_next) {
    clone_next = *reply.clone_next();
    empty_replies = reply.received() > 0 ? 0 : empty_replies + 1;
    if (empty_replies <= kMaxEmptyReplies) return {};
    return fail(ErrorCode::kInvalid,
                "the server announces more artifacts, but its last {} replies did not contain any",
                empty_replies);
  }
  if (!reply.clone_next() && repository.settings().project_code().empty()) {
    return fail(ErrorCode::kInvalid,
                "the reply to the clone has no clone_seqno card: not a Fossil server");
  }
  // Another host of a group continues the clone if it begins again. Its reply contains the names of
  // all artifacts, and the client pulls those that it lacks.
  const bool is_by_name = clone_next > 1 && reply.clone_next() == 1U;
  if (reply.clone_next().value_or(0) != 0 && !is_by_name) {
    return fail(ErrorCode::kInvalid,
                "the clone makes no progress: the server repeats a clone_seqno");
  }
  clone_next = 0;
  return complete_clone();
}

/// Processes the artifacts of a clone after the server has sent all of them.
Result<void> ClientSession::State::complete_clone() {
  QUARRY_TRY_ASSIGN(repository::Receipt receipt, repository.receive());
  receipt.set_sender(sender);
  QUARRY_TRY(receipt.complete(options.watch));
  return receipt.commit();
}

Result<void> ClientSession::State::read(std::string_view content_type, std::string_view body) {
  const auto format = reply_format(content_type);
  if (!format) {
    return fail(ErrorCode::kInvalid, "the reply is not a sync reply: its content type is \"{}\"",
                content_type.substr(0, 100));
  }
  std::string storage;
  QUARRY_TRY_ASSIGN(const std::string_view cards,
                    decode_body(*format, body, options.max_reply, storage, "reply"));
  ClientReply reply({.repository = repository,
                     .options = options,
                     .wants = wants,
                     .offer = offer,
                     .unversioned = unversioned,
                     .sender = sender,
                     .takes_settings = asked_settings,
                     .is_cloning = clone_next != 0});
  QUARRY_TRY(reply.read(cards));
  if (const auto at = reply.timestamp()) {
    figures.clock_skew = (at->value - repository.options().clock->now().value) / 1000;
  }
  figures.artifacts_received += reply.received();
  figures.artifacts_sent = offer.sent();
  figures.unversioned_received = unversioned.received();
  std::ranges::move(reply.messages(), std::back_inserter(messages));
  if (reply.error()) return refused(reply);
  if (asked_settings) wants_settings = false;
  if (reply.refuses_push()) may_push = false;
  wants.finish_reply();
  if (is_probing) {
    is_probing = false;
    return {};
  }
  if (clone_next != 0) QUARRY_TRY(continue_clone(reply));
  is_done = clone_next == 0 && !wants_settings && !(may_push && offer.has_more()) &&
            !(has_to_pull() && wants.any()) && !unversioned.has_more();
  if (is_done && options.clone && repository.has_waiting()) {
    return fail(
        ErrorCode::kInvalid,
        "the clone is incomplete: the server did not send the delta sources of some artifacts");
  }
  return {};
}

ClientSession::ClientSession(repository::Repository& repository, ClientOptions options)
    : state_(std::make_unique<State>(repository, std::move(options))) {}
ClientSession::~ClientSession() = default;

bool ClientSession::is_done() const {
  return state_->is_done;
}

ClientRequest ClientSession::State::request() {
  const std::string& project = repository.settings().project_code();
  logged_in = !options.user.empty() && !project.empty();
  std::string cards;
  if (logged_in) {
    const std::string secret = is_stored_secret(options.password)
                                   ? options.password
                                   : stored_secret(project, options.user, options.password);
    cards = login_card(options.user, secret, artifact::sha1_hex(last_cards)) + "\n";
  }
  cards += last_cards;
  ClientRequest made{.content_type = std::string(content_type_of(BodyFormat::kCompressed)),
                     .body = encode_body(BodyFormat::kCompressed, std::move(cards))};
  ++figures.round_trips;
  figures.bytes_sent += made.body.size();
  return made;
}

Result<ClientRequest> ClientSession::next_request() try {
  QUARRY_TRY_ASSIGN(state_->last_cards, state_->cards());
  return state_->request();
} catch (const std::exception& failure) {
  return fail(ErrorCode::kIo, failure.what());
}

ClientRequest ClientSession::repeat_without_login() {
  state_->options.user.clear();
  return state_->request();
}

Result<void> ClientSession::take_reply(std::string_view content_type, std::string_view body,
                                       std::string_view remote_address) try {
  state_->figures.bytes_received += body.size();
  state_->sender.address = remote_address;
  return state_->read(content_type, body);
} catch (const std::exception& failure) {
  return fail(ErrorCode::kIo, failure.what());
}

bool ClientSession::login_failed() const {
  return state_->login_failed;
}

const ClientFigures& ClientSession::figures() const {
  return state_->figures;
}

std::vector<std::string> ClientSession::take_messages() {
  return std::exchange(state_->messages, {});
}

}  // namespace quarry::sync
