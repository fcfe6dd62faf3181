// Stores a received artifact in steps: checks whether it is wanted, expands its payload, verifies
// it, and chooses how to store it.

#include <fmt/core.h>

#include "quarry/artifact/blob.h"
#include "quarry/artifact/delta.h"
#include "receipt_state.h"

namespace quarry::repository {

namespace {

// A received delta is stored as a delta if its chain is shorter than this. Otherwise, the whole
// content is stored, so that reading the newest version of a file stays fast.
constexpr int kMaxStoredChain = 24;

}  // namespace

class Receipt::State::Storing {
 public:
  Storing(Receipt::State& receipt, const Arrival& arrival)
      : state_(receipt), r_(receipt.r), arrival_(arrival) {}

  /// Returns whether the artifact was stored.
  Result<bool> run();

 private:
  enum class Next { kContinue, kIgnore, kWait };

  std::unexpected<Error> wrong(std::string_view why) const {
    return fail(ErrorCode::kInvalid, "artifact {}: {}", arrival_.name.str(), why);
  }
  Result<bool> is_wanted();
  void find_row();
  Result<void> unpack();
  Result<Next> find_source();
  Result<Next> make_content();
  void keep_waiting();
  Result<void> verify();
  bool may_stay_delta();
  void keep();

  Receipt::State& state_;
  Repository::State& r_;
  const Arrival& arrival_;
  Rid rid_ = 0;              // 0 if it does not have a row
  bool is_present_ = false;  // the row is not a phantom
  std::string expanded_;
  std::string_view payload_;  // uncompressed; points into the arrival or expanded_
  Rid source_ = 0;            // the delta source; 0 if there is none
  Content content_;           // the whole content
};

Result<bool> Receipt::State::Storing::run() {
  QUARRY_TRY_ASSIGN(const bool wanted, is_wanted());
  if (!wanted) return false;
  QUARRY_TRY(unpack());
  QUARRY_TRY_ASSIGN(Next next, find_source());
  if (next == Next::kContinue) {
    QUARRY_TRY_ASSIGN(next, make_content());
  }
  if (next == Next::kIgnore) return false;
  if (next == Next::kWait) {
    keep_waiting();
  } else {
    QUARRY_TRY(verify());
    keep();
  }
  return true;
}

void Receipt::State::Storing::find_row() {
  Query query = r_.database.query("SELECT rid, size FROM blob WHERE uuid=?1", arrival_.name.str());
  if (!query.step()) return;
  rid_ = query.integer(0);
  is_present_ = query.integer(1) >= 0;
}

/// Returns whether the artifact has to be stored. If it is already stored but private, and arrives
/// as a public artifact, it becomes public.
Result<bool> Receipt::State::Storing::is_wanted() {
  if (arrival_.delta_source == arrival_.name)
    return wrong("its delta is based on the artifact itself");
  if (state_.is_shunned(arrival_.name.str())) return false;
  if (!state_.sender.received) QUARRY_TRY(state_.admit(arrival_.name));
  find_row();
  if (!is_present_) return true;
  if (!arrival_.is_private && r_.privacy.is_private(rid_)) {
    QUARRY_TRY(state_.publish_if_proven(rid_, arrival_));
  }
  // A stored delta that is still waiting for its source is replaced by the artifact that has
  // arrived.
  return r_.contents.delta_source(rid_) != 0 && !r_.contents.get(rid_);
}

Result<void> Receipt::State::Storing::unpack() {
  const std::size_t limit = r_.options.max_artifact_size;
  payload_ = arrival_.payload;
  if (arrival_.is_compressed) {
    auto bytes = artifact::blob_expand(arrival_.payload, limit);
    if (!bytes) return wrong(bytes.error().message);
    expanded_ = std::move(*bytes);
    payload_ = expanded_;
  }
  if (payload_.size() <= limit) return {};
  return fail(ErrorCode::kLimit, "artifact {} is {} bytes long; the limit is {}",
              arrival_.name.str(), payload_.size(), limit);
}

Result<Receipt::State::Storing::Next> Receipt::State::Storing::find_source() {
  if (!arrival_.delta_source) return Next::kContinue;
  const std::string_view name = arrival_.delta_source->str();
  const auto size = artifact::delta_output_size(payload_);
  if (!size) return wrong(size.error().message);
  if (*size > r_.options.max_artifact_size)
    return wrong("the result of its delta exceeds the size limit");
  source_ = r_.names.find(name);
  // Ignore a delta whose source is shunned, because the source will never arrive. Also ignore a
  // public delta on a private artifact, because the delta would reveal the private artifact. The
  // artifact remains a phantom, so that it is requested as a whole. Other hosts of a group are
  // trusted, and their delta is expanded.
  const bool is_trusted = state_.sender.received.has_value();
  if (source_ == 0 ? state_.is_shunned(name)
                   : !is_trusted && !r_.privacy.may_be_delta_on(source_, arrival_.is_private)) {
    if (rid_ == 0) r_.names.make_phantom(arrival_.name.str(), arrival_.is_private);
    return Next::kIgnore;
  }
  if (source_ == 0) source_ = r_.names.make_phantom(name, arrival_.is_private);
  if (rid_ != 0 && r_.contents.chain_contains(source_, rid_)) {
    return wrong("its delta is based on the artifact itself");
  }
  return Next::kContinue;
}

Result<Receipt::State::Storing::Next> Receipt::State::Storing::make_content() {
  if (!arrival_.delta_source) {
    content_ = std::make_shared<const std::string>(payload_);
    return Next::kContinue;
  }
  const auto from = r_.contents.get(source_);
  if (!from && from.error().code != ErrorCode::kNotFound) return std::unexpected(from.error());
  if (!from) return is_present_ ? Next::kIgnore : Next::kWait;
  auto target = artifact::delta_apply(**from, payload_, r_.options.max_artifact_size);
  if (!target) return wrong(target.error().message);
  content_ = std::make_shared<const std::string>(std::move(*target));
  return Next::kContinue;
}

/// Stores a delta unchecked, because its source has not arrived.
void Receipt::State::Storing::keep_waiting() {
  const std::string stored =
      arrival_.is_compressed ? std::string(arrival_.payload) : artifact::blob_compress(payload_);
  const auto size = static_cast<std::int64_t>(*artifact::delta_output_size(payload_));
  rid_ = state_.write_row(rid_, arrival_.name, size, stored, source_, arrival_.is_private);
  if (r_.waiting) r_.waiting->insert(rid_);
}

Result<void> Receipt::State::Storing::verify() {
  if (arrival_.declared_size && *arrival_.declared_size != content_->size()) {
    return wrong(fmt::format("it is {} bytes long, but its card says {}", content_->size(),
                             *arrival_.declared_size));
  }
  r_.database.count_work(content_->size());
  if (!arrival_.name.names(*content_)) return wrong("its content does not match its hash");
  if (const auto harm = state_.harm_of(*content_)) return wrong(*harm);
  return {};
}

/// Returns whether the received delta should be stored as a delta. The delta can be kept only if
/// all clients that are allowed to receive the artifact are also allowed to receive its source.
bool Receipt::State::Storing::may_stay_delta() {
  const bool may_keep = source_ != 0 && r_.privacy.may_be_delta_on(source_, arrival_.is_private) &&
                        !(arrival_.delta_source && state_.is_shunned(arrival_.delta_source->str()));
  return may_keep && payload_.size() < content_->size() / 4 * 3 &&
         r_.contents.chain_length(source_, kMaxStoredChain) < kMaxStoredChain;
}

void Receipt::State::Storing::keep() {
  const bool is_delta = may_stay_delta();
  const bool is_payload = is_delta || source_ == 0;
  const std::string stored = arrival_.is_compressed && is_payload
                                 ? std::string(arrival_.payload)
                                 : artifact::blob_compress(is_payload ? payload_ : *content_);
  state_.store_content(rid_, arrival_, content_, stored, is_delta ? source_ : 0);
}

Result<bool> Receipt::store(const Arrival& arrival) {
  return guarded(state_->r.path, [&] { return State::Storing(*state_, arrival).run(); });
}

}  // namespace quarry::repository
