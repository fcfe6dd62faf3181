// Sends log lines to a receiver. Each type of destination has a class.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "log_lines.h"
#include "quarry/courier/options.h"
#include "transfer/transfer.h"

namespace quarry::courier {

struct LineDelivery {
  std::size_t delivered = 0;  // number of lines, from the first, that do not have to be sent again
  std::size_t rejected = 0;   // how many of them the receiver has rejected
  std::string error = {};     // why a line was rejected or is not delivered yet
  std::optional<std::chrono::milliseconds> delay = std::nullopt;  // that the receiver asks for
};

class LineSender {
 public:
  LineSender() = default;
  virtual ~LineSender() = default;
  LineSender(const LineSender&) = delete;
  LineSender& operator=(const LineSender&) = delete;

  virtual LineDelivery send(std::span<const LogLine> lines) = 0;
  /// Reopens files, for log rotation.
  virtual void reopen() {}
};

/// Returns the sender for the type of OPTIONS, which must be valid with `logs`.
std::unique_ptr<LineSender> make_line_sender(const DestinationOptions& options,
                                             Interrupted is_interrupted);
std::unique_ptr<LineSender> make_file_line_sender(const DestinationOptions& options);
std::unique_ptr<LineSender> make_http_line_sender(const DestinationOptions& options,
                                                  Interrupted is_interrupted);
std::unique_ptr<LineSender> make_syslog_line_sender(const DestinationOptions& options,
                                                    Interrupted is_interrupted);

std::string host_name();
/// Returns the body of a request with LINES of HOST, in the format of TYPE: kLoki, kOpenSearch or
/// kJsonLines.
std::string body_of(DestinationType type, std::span<const LogLine> lines, const std::string& host);
/// Returns LINE as a message of RFC 5424 with FACILITY and TAG, after its length (RFC 6587). A long
/// line becomes several messages.
std::string syslog_frames(const LogLine& line, int facility, const std::string& tag,
                          const std::string& host);

}  // namespace quarry::courier
