#include "http_post.h"

#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace quarry::courier {
namespace {

constexpr std::size_t kMaxReply = std::size_t{4} << 20;

}  // namespace

HttpPost::HttpPost(Interrupted is_interrupted, const std::string& ca_file, std::size_t max_kept)
    : transfer_(std::move(is_interrupted), ca_file), max_kept_(max_kept) {
  transfer_.set(CURLOPT_PROTOCOLS_STR, "http,https");
  transfer_.set(CURLOPT_POST, 1L);
  transfer_.set(CURLOPT_USERAGENT, "Quarry/" QUARRY_VERSION);
  transfer_.set(CURLOPT_WRITEFUNCTION, &receive);
  transfer_.set(CURLOPT_WRITEDATA, this);
}

void HttpPost::restrict_to(Allows allows) {
  allows_ = std::move(allows);
  transfer_.set(CURLOPT_OPENSOCKETFUNCTION, &open_socket);
  transfer_.set(CURLOPT_OPENSOCKETDATA, this);
}

HttpReply HttpPost::send(const std::string& url, std::span<const std::string> headers,
                         std::string_view body, std::chrono::milliseconds timeout) {
  std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> list(nullptr, &curl_slist_free_all);
  const auto add = [&list](const char* header) {
    curl_slist* const longer = curl_slist_append(list.get(), header);
    // LONGER is the same list with one more element.
    if (longer != nullptr) (void)list.release(), list.reset(longer);
  };
  for (const std::string& each : headers) add(each.c_str());
  // Remove the Expect header, because libcurl would otherwise wait for `100 Continue` before it sends
  // a long body.
  add("Expect:");
  received_ = 0;
  body_.clear();
  transfer_.set(CURLOPT_URL, url.c_str());
  transfer_.set(CURLOPT_HTTPHEADER, list.get());
  transfer_.set(CURLOPT_POSTFIELDS, body.data());
  transfer_.set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  transfer_.set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(timeout.count()));
  transfer_.set(CURLOPT_TIMEOUT_MS, static_cast<long>(timeout.count()));
  HttpReply reply = reply_after(transfer_.perform());
  transfer_.set(CURLOPT_HTTPHEADER, nullptr);
  return reply;
}

HttpReply HttpPost::reply_after(CURLcode code) {
  HttpReply reply;
  const auto info = [this](CURLINFO which, auto& value) {
    return curl_easy_getinfo(transfer_.handle(), which, &value) == CURLE_OK;
  };
  info(CURLINFO_RESPONSE_CODE, reply.status);
  // receive() aborts the transfer of a long body. The status is already known.
  if (code != CURLE_OK && (code != CURLE_WRITE_ERROR || reply.status == 0)) {
    reply.status = 0;
    reply.is_interrupted = code == CURLE_ABORTED_BY_CALLBACK;
    if (!reply.is_interrupted) reply.error = transfer_.error(code);
    return reply;
  }
  reply.body = body_;
  const char* target = nullptr;
  if (info(CURLINFO_REDIRECT_URL, target) && target != nullptr) reply.redirect = target;
  curl_off_t seconds = 0;
  constexpr curl_off_t kDay = 86'400;
  if (info(CURLINFO_RETRY_AFTER, seconds) && seconds > 0) {
    reply.retry_after = std::chrono::seconds(std::min(seconds, kDay));
  }
  return reply;
}

std::size_t HttpPost::receive(char* bytes, std::size_t size, std::size_t count, void* self) {
  auto& post = *static_cast<HttpPost*>(self);
  const std::size_t length = size * count;
  const std::size_t room = post.max_kept_ - std::min(post.max_kept_, post.body_.size());
  post.body_.append(bytes, std::min(length, room));
  post.received_ += length;
  return post.received_ > kMaxReply ? 0 : length;
}

curl_socket_t HttpPost::open_socket(void* self, curlsocktype /*unused*/, curl_sockaddr* to) {
  const auto address = base::SocketAddress::of(&to->addr, to->addrlen);
  if (!address || !static_cast<HttpPost*>(self)->allows_(*address)) return CURL_SOCKET_BAD;
  return ::socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

}  // namespace quarry::courier
