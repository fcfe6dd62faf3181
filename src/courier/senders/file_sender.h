// A file that events are appended to, a line of JSON each; on the disk before they are settled. It may
// be a named pipe, whose reader is waited for as long as a delivery may take.
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
  /// Waits until the file, a pipe, takes more; false: nothing is waited for any longer.
  bool wait_until_ready(std::chrono::steady_clock::time_point end) const;

  DestinationOptions options_;
  Interrupted is_interrupted_;
  base::Fd file_;
  bool is_dirty_ = false;
  bool has_half_a_line_ = false;  // a pipe, which nobody can take it out of
};

}  // namespace quarry::courier
