// Sends log lines in batches by POST over HTTP with libcurl.
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
#include <curl/curl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "line_sender.h"
#include "quarry/base/escape.h"
#include "quarry/base/time.h"
#include "quarry/courier/log_courier.h"

namespace quarry::courier {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kShown = 120;  // bytes of a reply in an error
constexpr std::size_t kMaxReplyBytes = std::size_t{4} << 20;
constexpr long kFirstError = 400;
constexpr long kConflict = 409;
constexpr long kTooManyRequests = 429;
constexpr long kFirstServerError = 500;
constexpr std::chrono::seconds kMaxWait{3600};

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

/// Returns LINE as a document. If the line is a JSON object, its members are part of the document.
Json document_of(const LogLine& line, const std::string& host) {
  Json document = line.text.starts_with('{') ? Json::parse(line.text, nullptr, false) : Json();
  if (!document.is_object()) document = {{"message", line.text}};
  document["@timestamp"] = base::iso_micros(line.micros);
  document["host"] = host;
  document["log"] = kind_of(line);
  document.emplace("level", level_named(line.severity));
  if (!line.pool().empty()) document["pool"] = line.pool();
  return document;
}

bool is_rejection(long status) {
  return status == 400 || status == 413 || status == 422;
}

class HttpLineSender final : public LineSender {
 public:
  explicit HttpLineSender(const DestinationOptions& options)
      : options_(options), host_(host_name()), handle_(curl_easy_init()) {
    add_header(options.type == DestinationType::kLoki ? "Content-Type: application/json"
                                                      : "Content-Type: application/x-ndjson");
    add_header("Expect:");
    for (const std::string& each : options.headers) add_header(each);
    curl_easy_setopt(handle_, CURLOPT_URL, options_.url.c_str());
    curl_easy_setopt(handle_, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(handle_, CURLOPT_PROXY, "");
    curl_easy_setopt(handle_, CURLOPT_POST, 1L);
    curl_easy_setopt(handle_, CURLOPT_HTTPHEADER, headers_);
    curl_easy_setopt(handle_, CURLOPT_USERAGENT, "Quarry/" QUARRY_VERSION);
    curl_easy_setopt(handle_, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle_, CURLOPT_TIMEOUT_MS,
                     static_cast<long>(options_.delivery_timeout().count()));
    curl_easy_setopt(handle_, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(handle_, CURLOPT_XFERINFOFUNCTION, &check_interrupted);
    curl_easy_setopt(handle_, CURLOPT_XFERINFODATA, this);
    curl_easy_setopt(handle_, CURLOPT_WRITEFUNCTION, &receive);
    curl_easy_setopt(handle_, CURLOPT_WRITEDATA, this);
    curl_easy_setopt(handle_, CURLOPT_ERRORBUFFER, message_.data());
    if (!options_.ca_file.empty()) {
      curl_easy_setopt(handle_, CURLOPT_CAINFO, options_.ca_file.c_str());
      curl_easy_setopt(handle_, CURLOPT_CAPATH, nullptr);
    }
  }
  ~HttpLineSender() override {
    curl_easy_cleanup(handle_);
    curl_slist_free_all(headers_);
  }

  LineDelivery send(std::span<const LogLine> lines,
                    const LinesInterrupted& is_interrupted) override {
    is_interrupted_ = &is_interrupted;
    LineDelivery result = post(lines);
    if (result.rejected < lines.size() || lines.size() == 1) return result;
    // The receiver rejects the batch because of some of its lines. Find these lines.
    const std::size_t half = lines.size() / 2;
    const LineDelivery first = send(lines.first(half), is_interrupted);
    if (first.delivered < half) return first;
    LineDelivery second = send(lines.subspan(half), is_interrupted);
    second.delivered += half;
    second.rejected += first.rejected;
    if (second.error.empty()) second.error = first.error;
    return second;
  }

 private:
  void add_header(const std::string& header) {
    if (curl_slist* longer = curl_slist_append(headers_, header.c_str())) headers_ = longer;
  }

  /// Sends LINES in a single request. If the receiver rejects the request, all lines count as
  /// rejected.
  LineDelivery post(std::span<const LogLine> lines) {
    const std::string body = body_of(options_.type, lines, host_);
    curl_easy_setopt(handle_, CURLOPT_POSTFIELDS, body.data());
    curl_easy_setopt(handle_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    message_[0] = '\0';
    reply_.clear();
    const CURLcode code = curl_easy_perform(handle_);
    if (code != CURLE_OK) {
      const char* why = message_[0] != '\0' ? message_.data() : curl_easy_strerror(code);
      return {.error = error_of(why)};
    }
    long status = 0;
    curl_easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &status);
    const bool is_done = status >= 200 && status < 300;
    if (is_done && options_.type == DestinationType::kOpenSearch) return result_of_items(lines);
    if (is_done) return {.delivered = lines.size()};
    LineDelivery result{.error = error_of(fmt::format("HTTP status {}: {}", status, reply_))};
    if (is_rejection(status)) result.delivered = result.rejected = lines.size();
    curl_off_t seconds = 0;
    if (curl_easy_getinfo(handle_, CURLINFO_RETRY_AFTER, &seconds) == CURLE_OK && seconds > 0) {
      result.delay = std::min(std::chrono::seconds(seconds), kMaxWait);
    }
    return result;
  }

  /// Returns TEXT, truncated to kShown bytes, after the name of the destination.
  std::string error_of(std::string_view text) const {
    return fmt::format("{}: {}", options_.name, base::printable(text, kShown));
  }

  /// Returns the result of a bulk request, whose reply contains a status for each line.
  LineDelivery result_of_items(std::span<const LogLine> lines) const {
    const Json reply = Json::parse(reply_, nullptr, false);
    LineDelivery result{.delivered = lines.size()};
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

  static std::size_t receive(char* bytes, std::size_t size, std::size_t count, void* self) {
    auto& sender = *static_cast<HttpLineSender*>(self);
    if (sender.reply_.size() < kMaxReplyBytes) sender.reply_.append(bytes, size * count);
    return size * count;
  }
  static int check_interrupted(void* self, curl_off_t /*unused*/, curl_off_t /*unused*/,
                               curl_off_t /*unused*/, curl_off_t /*unused*/) {
    return (*static_cast<HttpLineSender*>(self)->is_interrupted_)() ? 1 : 0;
  }

  DestinationOptions options_;
  std::string host_;
  CURL* handle_;
  curl_slist* headers_ = nullptr;
  const LinesInterrupted* is_interrupted_ = nullptr;  // during send()
  std::string reply_;
  std::array<char, CURL_ERROR_SIZE> message_{};
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

std::unique_ptr<LineSender> make_line_sender(const DestinationOptions& options) {
  if (options.type == DestinationType::kSyslog) return make_syslog_line_sender(options);
  if (options.type == DestinationType::kFile) return make_file_line_sender(options);
  return make_http_line_sender(options);
}

std::unique_ptr<LineSender> make_http_line_sender(const DestinationOptions& options) {
  return std::make_unique<HttpLineSender>(options);
}

}  // namespace quarry::courier
