// Sends log lines in batches by POST over HTTP.
//
//   loki         Loki's push API: {"streams":[{"stream":{LABELS},"values":[["NANOSECONDS","LINE"]…]}]}
//   opensearch   the bulk API of OpenSearch and Elasticsearch: {"create":{"_id":ID}}, a newline, a
//                document. Because of ID, a line that is sent twice is stored once.
//   json-lines   a document per line
//
//   2xx            the batch is delivered
//   400, 413, 422  the receiver rejects a line: the halves of the batch are sent separately, and a
//                  single rejected line is dropped
//   other          the batch is sent again later, after Retry-After if the receiver sends it
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "line_sender.h"
#include "quarry/base/escape.h"
#include "quarry/base/time.h"
#include "quarry/courier/log_courier.h"
#include "transfer/http_post.h"

namespace quarry::courier {
namespace {

using Json = nlohmann::json;

constexpr int kMaxDepth = 100;
constexpr std::size_t kShown = 120;  // bytes of a reply in an error
// Receivers limit the size of a request. Larger batches are sent in parts.
constexpr std::size_t kMaxBatchBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxReplyBytes = std::size_t{4} << 20;
constexpr long kFirstError = 400;
constexpr long kConflict = 409;
constexpr long kTooManyRequests = 429;
constexpr long kFirstServerError = 500;
constexpr std::chrono::milliseconds kMaxWait{3'600'000};

std::string dumped(const Json& document) {
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string kind_of(const LogLine& line) {
  return std::string(line.log.substr(0, line.log.find('.')));
}

std::string loki_body(std::span<const LogLine> lines, const std::string& host) {
  std::map<std::pair<std::string_view, std::uint8_t>, Json> streams;
  for (const LogLine& line : lines) {
    Json& stream = streams[{line.log, line.severity}];
    if (stream.is_null()) {
      stream = {{"stream", {{"job", "quarry"}, {"host", host}, {"log", kind_of(line)}}},
                {"values", Json::array()}};
      if (line.pool().empty()) {
        stream["stream"]["level"] = level_named(line.severity);
      } else {
        stream["stream"]["pool"] = line.pool();
      }
    }
    stream["values"].push_back({fmt::format("{}000", line.micros), line.text});
  }
  Json body{{"streams", Json::array()}};
  for (auto& [key, stream] : streams) body["streams"].push_back(std::move(stream));
  return dumped(body);
}

/// Returns TEXT as a JSON object, or null if it is not an object. Objects that are nested deeply
/// are also null, because the library needs stack for each level to print them.
Json object_in(std::string_view text) {
  if (!text.starts_with('{')) return {};
  bool is_deep = false;
  const auto limit = [&is_deep](int depth, Json::parse_event_t /*event*/, Json& /*parsed*/) {
    is_deep |= depth > kMaxDepth;
    return !is_deep;
  };
  Json object = Json::parse(text, limit, /*allow_exceptions=*/false);
  return is_deep || !object.is_object() ? Json() : object;
}

/// Returns LINE as a document. If the line is a JSON object, its members are part of the document.
Json document_of(const LogLine& line, const std::string& host) {
  Json document = object_in(line.text);
  if (document.is_null()) document = {{"message", line.text}};
  document["@timestamp"] = base::iso_micros(line.micros);
  document["host"] = host;
  document["log"] = kind_of(line);
  document.emplace("level", level_named(line.severity));
  if (!line.pool().empty()) document["pool"] = line.pool();
  return document;
}

std::size_t size_of(std::span<const LogLine> lines) {
  std::size_t size = 0;
  for (const LogLine& line : lines) size += line.text.size();
  return size;
}

bool is_rejection(long status) {
  return status == 400 || status == 413 || status == 422;
}

class HttpLineSender final : public LineSender {
 public:
  HttpLineSender(const DestinationOptions& options, Interrupted is_interrupted)
      : options_(options),
        host_(host_name()),
        headers_(options.headers),
        post_(std::move(is_interrupted), options.ca_file, kMaxReplyBytes) {
    headers_.emplace_back(options.type == DestinationType::kLoki
                              ? "Content-Type: application/json"
                              : "Content-Type: application/x-ndjson");
  }

  LineDelivery send(std::span<const LogLine> lines) override {
    if (lines.size() > 1 && size_of(lines) > kMaxBatchBytes) return send_halves(lines);
    const HttpReply reply = post_.send(options_.url, headers_, body_of(options_.type, lines, host_),
                                       options_.delivery_timeout());
    if (!is_rejection(reply.status) || lines.size() == 1) return result_of(reply, lines.size());
    // The receiver rejects the batch because of some of its lines. Find these lines.
    return send_halves(lines);
  }

 private:
  LineDelivery send_halves(std::span<const LogLine> lines) {
    const std::size_t half = lines.size() / 2;
    const LineDelivery first = send(lines.first(half));
    if (first.delivered < half) return first;
    LineDelivery second = send(lines.subspan(half));
    second.delivered += half;
    second.rejected += first.rejected;
    if (second.error.empty()) second.error = first.error;
    return second;
  }

  /// Returns the result of a request with COUNT lines.
  LineDelivery result_of(const HttpReply& reply, std::size_t count) const {
    if (reply.status == 0) return {.error = error_of(reply.error)};
    if (reply.is_done() && options_.type == DestinationType::kOpenSearch) {
      return result_of_items(reply.body, count);
    }
    if (reply.is_done()) return {.delivered = count};
    LineDelivery result{.error = error_of(fmt::format("HTTP status {}{}{}", reply.status,
                                                      reply.body.empty() ? "" : ": ", reply.body))};
    if (is_rejection(reply.status)) result.delivered = result.rejected = count;
    if (reply.retry_after) result.delay = std::min(*reply.retry_after, kMaxWait);
    return result;
  }

  /// Returns TEXT, truncated to kShown bytes, after the origin of the receiver.
  std::string error_of(std::string_view text) const {
    return fmt::format("{}: {}", origin_of(options_.url), base::printable(text, kShown));
  }

  /// Returns the result of a bulk request, whose reply TEXT contains a status for each line.
  LineDelivery result_of_items(const std::string& text, std::size_t count) const {
    const Json reply = Json::parse(text, nullptr, false);
    LineDelivery result{.delivered = count};
    if (!reply.is_object() || reply.value("errors", Json()) != true) return result;
    for (const Json& item : reply.value("items", Json::array())) {
      const Json created = item.is_object() ? item.value("create", Json()) : Json();
      const Json number = created.is_object() ? created.value("status", Json()) : Json();
      const long status = number.is_number_integer() ? number.get<long>() : kFirstServerError;
      // The line was stored before.
      if (status < kFirstError || status == kConflict) continue;
      result.error = error_of(fmt::format("HTTP status {} for a line: {}", status, dumped(item)));
      if (status == kTooManyRequests || status >= kFirstServerError) {
        return {.error = std::move(result.error)};
      }
      ++result.rejected;
    }
    return result;
  }

  DestinationOptions options_;
  std::string host_;
  std::vector<std::string> headers_;
  HttpPost post_;
};

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0' ? name.data() : "-";
}

std::string body_of(DestinationType type, std::span<const LogLine> lines, const std::string& host) {
  if (type == DestinationType::kLoki) return loki_body(lines, host);
  std::string body;
  for (const LogLine& line : lines) {
    if (type == DestinationType::kOpenSearch) {
      body += fmt::format(R"({{"create":{{"_id":"{}-{}"}}}})", host, line.micros) + "\n";
    }
    body.append(dumped(document_of(line, host))).append("\n");
  }
  return body;
}

std::unique_ptr<LineSender> make_line_sender(const DestinationOptions& options,
                                             Interrupted is_interrupted) {
  if (options.type == DestinationType::kFile) return make_file_line_sender(options);
  return options.type == DestinationType::kSyslog
             ? make_syslog_line_sender(options, std::move(is_interrupted))
             : make_http_line_sender(options, std::move(is_interrupted));
}

std::unique_ptr<LineSender> make_http_line_sender(const DestinationOptions& options,
                                                  Interrupted is_interrupted) {
  return std::make_unique<HttpLineSender>(options, std::move(is_interrupted));
}

}  // namespace quarry::courier
