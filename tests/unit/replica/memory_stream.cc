#include "memory_stream.h"

using namespace quarry;
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
  std::unique_lock lock(engine_.mutex_);
  ++engine_.calls_;
  engine_.changed_.notify_all();
  engine_.changed_.wait_for(lock, time, [&] { return !engine_.is_held_; });
  if (!engine_.is_up_ || !engine_.has_quorum_ || engine_.is_held_) return no_answer();
  for (const NewStreamMessage& each : messages) {
    if (!engine_.ids_.insert(each.id).second) continue;
    engine_.messages_.push_back(
        {engine_.range().last + 1, each.project, base::system_clock().now(), each.content});
  }
  engine_.changed_.notify_all();
  return engine_.range().last;
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
  if (position_.sequence == engine_.range().last) return std::nullopt;
  ++position_.sequence;
  return engine_.messages_.at(position_.sequence - engine_.first_);
}
