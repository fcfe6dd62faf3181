// Collects events about a repository and sends them to the courier.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "quarry/backoffice/jobs.h"
#include "quarry/base/result.h"
#include "quarry/event/event.h"
#include "quarry/repository/repository.h"
#include "quarry/spool/hand_over.h"

namespace quarry::backoffice {

class EventBatch {
 public:
  EventBatch() = default;
  /// Creates an empty batch. Requires a Snapshot or a Receipt.
  EventBatch(repository::Repository& repository, const PublishOptions& options);

  /// Adds an event. KEY identifies the event within the project.
  void add(const std::string& key, event::Record record, base::UnixMillis time);
  void add(const std::string& key, event::Record record) { add(key, std::move(record), now_); }
  base::UnixMillis now() const { return now_; }
  /// Returns the public URL of the repository, or "".
  const std::string& url() const { return head_.url; }
  std::size_t size() const { return messages_.size(); }
  const std::vector<spool::NewMessage>& messages() const { return messages_; }
  /// Sends all events to COURIER, in one or more requests. After an error, some of the events might
  /// have arrived. Errors: the same as for HandOver::hand_over().
  Result<void> hand_over(const spool::HandOver& courier) const;

 private:
  event::Head head_;
  base::UnixMillis now_;
  std::vector<spool::NewMessage> messages_;
};

}  // namespace quarry::backoffice
