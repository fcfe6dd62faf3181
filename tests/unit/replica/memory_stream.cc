#include "memory_stream.h"

#include <limits>

using namespace quarry;
using replica::Bucket;
using replica::KeyValue;
using replica::NewStreamMessage;
using replica::StreamMessage;
using replica::StreamRange;

namespace {

std::unexpected<Error> no_answer() {
  return fail(ErrorCode::kBusy, "no answer");
}

}  // namespace

void MemoryEngine::change(const auto& change) {
  {
    const std::lock_guard lock(mutex_);
    change();
  }
  changed_.notify_all();
}

void MemoryEngine::set_up(bool is_up) {
  change([&] { is_up_ = is_up; });
}
void MemoryEngine::set_quorum(bool has_quorum) {
  change([&] { has_quorum_ = has_quorum; });
}
void MemoryEngine::set_clock(std::chrono::milliseconds difference) {
  change([&] { clock_difference_ = difference; });
}
void MemoryEngine::hold(bool is_held) {
  change([&] { is_held_ = is_held; });
}

void MemoryEngine::wait_for_calls(std::size_t count) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return calls_ >= count; });
}

StreamRange MemoryEngine::range() const {
  return {created_, first_, first_ + messages_.size() - 1};
}

std::uint64_t MemoryEngine::last() const {
  const std::lock_guard lock(mutex_);
  return range().last;
}

void MemoryEngine::discard_before(std::uint64_t first) {
  change([&] {
    const auto count = static_cast<std::ptrdiff_t>(first - first_);
    messages_.erase(messages_.begin(), messages_.begin() + count);
    first_ = first;
  });
}

void MemoryEngine::end_at(std::uint64_t last) {
  change([&] { messages_.resize(last + 1 - first_); });
}

void MemoryEngine::create_again() {
  change([&] {
    ++created_;
    first_ = 1;
    messages_.clear();
    ids_.clear();
  });
}

void MemoryEngine::expire(Bucket bucket) {
  change([&] {
    std::erase_if(values_, [&](const auto& each) { return each.first.first == bucket; });
  });
}

MemoryStream::~MemoryStream() {
  std::shared_ptr<MemoryEngine::Host> host;
  engine_.change([&] {
    const auto found = engine_.hosts_.extract(host_);
    if (found) host = found.mapped();
  });
  if (!host) return;
  const std::scoped_lock lock(host->answer_mutex, host->listener_mutex);
  host->answer = {};
  host->listener = {};
}

bool MemoryStream::is_connected() const {
  const std::lock_guard lock(engine_.mutex_);
  return engine_.is_up_;
}

Result<StreamRange> MemoryStream::range() {
  const std::lock_guard lock(engine_.mutex_);
  if (!engine_.is_up_) return no_answer();
  return engine_.range();
}

Result<std::uint64_t> MemoryStream::publish(std::span<const NewStreamMessage> messages,
                                            std::chrono::milliseconds time) {
  return publish_after(std::numeric_limits<std::uint64_t>::max(), messages, time);
}

Result<std::uint64_t> MemoryStream::publish_after(std::uint64_t expected,
                                                  std::span<const NewStreamMessage> messages,
                                                  std::chrono::milliseconds time) {
  std::unique_lock lock(engine_.mutex_);
  ++engine_.calls_;
  engine_.changed_.notify_all();
  engine_.changed_.wait_for(lock, time, [&] { return !engine_.is_held_; });
  if (!engine_.can_store() || engine_.is_held_) return no_answer();
  for (const StreamMessage& each : engine_.messages_) {
    if (each.project == messages.front().project && each.sequence > expected)
      return fail(ErrorCode::kConflict, "message {} came first", each.sequence);
  }
  for (const NewStreamMessage& each : messages) {
    if (!engine_.ids_.insert(each.id).second) continue;
    engine_.messages_.push_back(
        {engine_.range().last + 1,
         each.project,
         {base::system_clock().now().value + engine_.clock_difference_.count()},
         each.content});
  }
  engine_.changed_.notify_all();
  return engine_.range().last;
}

void MemoryStream::serve(Answer answer, Listener listener) {
  auto host = std::make_shared<MemoryEngine::Host>();
  host->answer = std::move(answer);
  host->listener = std::move(listener);
  const std::lock_guard lock(engine_.mutex_);
  engine_.hosts_[host_] = std::move(host);
}

Result<std::string> MemoryStream::request(const std::string& host, std::string_view request,
                                          std::chrono::milliseconds) {
  std::shared_ptr<MemoryEngine::Host> found;
  ++requests_;
  {
    const std::lock_guard lock(engine_.mutex_);
    if (!engine_.is_up_) return no_answer();
    const auto at = engine_.hosts_.find(host);
    if (at != engine_.hosts_.end()) found = at->second;
  }
  if (!found) return fail(ErrorCode::kNotFound, "the host {} is not connected", host);
  const std::lock_guard lock(found->answer_mutex);
  if (!found->answer) return fail(ErrorCode::kNotFound, "the host {} is not connected", host);
  return found->answer(request);
}

void MemoryStream::announce(std::string_view text) {
  std::map<std::string, std::shared_ptr<MemoryEngine::Host>> hosts;
  {
    const std::lock_guard lock(engine_.mutex_);
    if (engine_.is_up_) hosts = engine_.hosts_;
  }
  hosts.erase(host_);
  for (const auto& [name, host] : hosts) {
    const std::lock_guard lock(host->listener_mutex);
    if (host->listener) host->listener(text);
  }
}

Result<std::optional<KeyValue>> MemoryStream::get(Bucket bucket, const std::string& key) {
  const std::lock_guard lock(engine_.mutex_);
  if (!engine_.can_store()) return no_answer();
  const auto found = engine_.values_.find({bucket, key});
  if (found == engine_.values_.end()) return std::nullopt;
  return found->second;
}

Result<std::optional<std::uint64_t>> MemoryStream::put(Bucket bucket, const std::string& key,
                                                       std::string_view value,
                                                       std::uint64_t expected) {
  const std::lock_guard lock(engine_.mutex_);
  if (!engine_.can_store()) return no_answer();
  const auto found = engine_.values_.find({bucket, key});
  const std::uint64_t revision = found == engine_.values_.end() ? 0 : found->second.revision;
  if (revision != expected) return std::nullopt;
  engine_.values_[{bucket, key}] = {std::string(value), ++engine_.revision_};
  return engine_.revision_;
}

Result<void> MemoryStream::erase(Bucket bucket, const std::string& key, std::uint64_t revision) {
  const std::lock_guard lock(engine_.mutex_);
  if (!engine_.can_store()) return no_answer();
  const auto found = engine_.values_.find({bucket, key});
  if (found != engine_.values_.end() && found->second.revision == revision)
    engine_.values_.erase(found);
  return {};
}

bool MemoryStream::is_at_end() const {
  const std::lock_guard lock(engine_.mutex_);
  return position_.sequence == engine_.range().last;
}

Result<void> MemoryStream::seek(std::uint64_t sequence) {
  const std::lock_guard lock(engine_.mutex_);
  if (!engine_.is_up_) return no_answer();
  position_ = {engine_.created_, sequence};
  return {};
}

Result<std::optional<StreamMessage>> MemoryStream::next(std::chrono::milliseconds time) {
  std::unique_lock lock(engine_.mutex_);
  const auto is_valid = [&] {
    const StreamRange range = engine_.range();
    return engine_.is_up_ && position_.created == range.created &&
           position_.sequence <= range.last && position_.sequence + 1 >= range.first;
  };
  engine_.changed_.wait_for(
      lock, time, [&] { return !is_valid() || position_.sequence < engine_.range().last; });
  if (!is_valid()) return no_answer();
  if (loses_) position_.sequence = engine_.range().last;
  if (position_.sequence == engine_.range().last) return std::nullopt;
  ++position_.sequence;
  return engine_.messages_.at(position_.sequence - engine_.first_);
}
