#include "queue_client.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <random>
#include <utility>

#include "common/interruption.h"
#include "quarry/base/escape.h"
#include "quarry/base/time.h"
#include "quarry/changes/queue_view.h"
#include "quarry/http/status.h"
#include "quarry/http/syntax.h"
#include "quarry/sync/signed_request.h"
#include "quarry/transport/http_exchange.h"
#include "queue_text.h"
#include "remote/password.h"

namespace quarry::app {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxReply = std::size_t{64} << 20;

/// Returns the string member NAME of the JSON object TEXT, or "" if it is missing.
std::string member_of(const std::string& text, const char* name) {
  return text_in(json::parse(text, nullptr, /*allow_exceptions=*/false), name);
}

std::unexpected<Error> refused(const std::string& url, const transport::HttpReply& reply) {
  const std::string said = member_of(reply.body, "error");
  if (!said.empty())
    return fail(http::error_code_of(reply.status), base::printable_message(said, 500));
  if (reply.status >= 300 && reply.status < 400) {
    return fail(ErrorCode::kDenied, "{} redirects to another URL (HTTP status {}): use that URL",
                url, reply.status);
  }
  const std::string text = reply.status == 404 ? "" : transport::plain_text_of(reply);
  if (!text.empty()) {
    return fail(http::error_code_of(reply.status),
                fmt::format("{}: HTTP status {}: the server says: {}", url, reply.status, text));
  }
  return fail(http::error_code_of(reply.status),
              fmt::format("{}: HTTP status {}: there is no change-set queue at this URL", url,
                          reply.status));
}

/// Returns the path and query of URL.
std::string target_of(const std::string& url) {
  const std::size_t host = url.find("://") + 3;
  const std::size_t path = url.find('/', host);
  return path == std::string::npos ? "/" : url.substr(path);
}

/// Returns a random word that makes a request unique, because the server refuses a repeated request
/// as a replay.
std::string random_word() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}", device(), device());
}

}  // namespace

QueueClient::QueueClient(transport::RemoteUrl url, transport::TransportOptions options)
    : url_(std::move(url)), options_(std::move(options)) {
  base_ = url_.without_user();
  while (base_.ends_with('/')) base_.pop_back();
  base_ += "/queue";
}

Result<QueueClient> QueueClient::open(const ServerArguments& arguments) {
  QUARRY_TRY_ASSIGN(auto url, transport::RemoteUrl::parse(arguments.url));
  if (!url.is_http()) {
    return fail(ErrorCode::kInvalid,
                "a server's queue needs an http: or https: URL (for a local repository: quarry "
                "queue -R FILE)");
  }
  if (!arguments.user.empty()) url.user = arguments.user;
  if (!arguments.password_file.empty()) {
    QUARRY_TRY_ASSIGN(url.password, password_from_file(arguments.password_file));
  }
  transport::TransportOptions options;
  options.max_reply = kMaxReply;
  options.ca_file = arguments.ca_file;
  options.is_interrupted = [] { return Interruption::signal() != 0; };
  QueueClient client(std::move(url), std::move(options));
  if (client.url_.user.empty()) return client;
  QUARRY_TRY(client.learn_project_code());
  if (client.url_.password.empty()) {
    QUARRY_TRY_ASSIGN(client.url_.password,
                      ask_for_password(fmt::format("password for {} at {}: ", client.url_.user,
                                                   client.url_.host)));
  }
  return client;
}

/// Gets the project code, which is part of the hash of a password. The request is not signed,
/// because the signature depends on the code.
Result<void> QueueClient::learn_project_code() {
  // Some servers ignore ask=project. waiting=0 and over=0 keep the replies of such servers short.
  const std::string url = base_ + ".json?ask=project&waiting=0&over=0";
  QUARRY_TRY_ASSIGN(const auto reply,
                    transport::exchange({.url = url, .headers = {}, .body = {}}, options_));
  project_code_ = member_of(reply.body, "project_code");
  if (!project_code_.empty()) return {};
  return refused(base_, reply);
}

Result<std::string> QueueClient::get(std::string_view path, std::string_view query) const {
  return ask("GET", std::string(path) + ".json", query, {}, {});
}

Result<std::string> QueueClient::post(std::string_view path, std::string_view query,
                                      std::string_view content_type, std::string_view body) const {
  return ask("POST", path, fmt::format("{}&r={}", query, random_word()), content_type, body);
}

Result<std::string> QueueClient::ask(std::string_view method, std::string_view path,
                                     std::string_view query, std::string_view content_type,
                                     std::string_view body) const {
  transport::HttpRequest request;
  request.method = method;
  request.url = fmt::format("{}{}{}{}", base_, path, query.empty() ? "" : "?", query);
  request.body = body;
  if (!content_type.empty()) {
    request.headers.push_back(fmt::format("Content-Type: {}", content_type));
  }
  request.headers.emplace_back("Accept: application/json");
  if (!url_.user.empty()) {
    const std::string date = base::iso_millis(base::system_clock().now()) + "Z";
    const std::string text =
        sync::signed_text(method, target_of(request.url), date, sync::body_hash(body));
    request.headers.push_back("X-Quarry-Date: " + date);
    request.headers.push_back("Cookie: " +
                              sync::sign_request(project_code_, url_.user, url_.password, text));
  }
  QUARRY_TRY_ASSIGN(auto reply, transport::exchange(request, options_));
  if (reply.status == 200 || reply.status == 202) return std::move(reply.body);
  return refused(base_, reply);
}

Result<bool> QueueClient::has_check_in(std::string_view name) const {
  QUARRY_TRY_ASSIGN(const std::string reply,
                    get("", "ask=check-in&name=" + http::percent_encode(name)));
  QUARRY_TRY_ASSIGN(const json document, document_in(reply));
  return !document.contains("check_in") || document["check_in"].is_string();
}

Result<changes::ChangeSetId> QueueClient::submit(const changes::Meta& meta,
                                                 std::string_view tarball) const {
  // The server checks the author and the approval before it accepts the tarball.
  std::string query = fmt::format("type={}", word_of(meta.type));
  if (!meta.author.empty()) query += "&author=" + http::percent_encode(meta.author);
  if (!meta.approval.empty()) query += "&approval=" + http::percent_encode(meta.approval);
  QUARRY_TRY_ASSIGN(const std::string reply, post("", query, changes::kTarballType, tarball));
  if (const auto id = changes::ChangeSetId::parse(member_of(reply, "id"))) return *id;
  return fail(ErrorCode::kInvalid, "invalid reply from the server: no change-set id");
}

Result<std::string> packed(const changes::Meta& meta, std::span<const changes::FileToSubmit> files,
                           std::size_t max_size) {
  std::string tarball;
  QUARRY_TRY(changes::write_tarball(
      [&](std::string_view bytes) -> Result<void> {
        if (tarball.size() + bytes.size() > max_size) {
          return fail(ErrorCode::kLimit, "the change set is larger than {} bytes", max_size);
        }
        tarball += bytes;
        return {};
      },
      meta, files));
  return tarball;
}

}  // namespace quarry::app
