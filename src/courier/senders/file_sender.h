// Appends events to a file, one line of JSON each, synced before they are settled. The file may be
// a named pipe; a slow reader is waited for up to the delivery timeout.
#pragma once

#include <chrono>
#include <string_view>
#include <utility>

#include "quarry/base/fd.h"
#include "quarry/courier/options.h"
#include "sender.h"

namespace quarry::courier {

class FileSender final : public Sender {
 public:
  FileSender(const DestinationOptions& options, Interrupted is_interrupted)
      : options_(options), is_interrupted_(std::move(is_interrupted)) {}

  DeliveryResult deliver(const OutgoingEvent& outgoing) override;
  base::Result<void> finish() override;
  void reopen() override { file_.reset(); }

 private:
  base::Result<void> open();
  base::Result<void> append(std::string_view line);
  /// Waits until the pipe accepts more. Returns false after END or an interruption.
  bool wait_until_ready(std::chrono::steady_clock::time_point end) const;

  DestinationOptions options_;
  Interrupted is_interrupted_;
  base::Fd file_;
  bool is_dirty_ = false;
  bool has_half_a_line_ = false;  // in a pipe, where it cannot be removed
};

}  // namespace quarry::courier
