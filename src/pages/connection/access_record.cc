#include "access_record.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "quarry/base/number.h"
#include "quarry/http/parameters.h"
#include "quarry/http/syntax.h"

namespace quarry::pages {

base::AccessRecord access_record(PageConnection& connection, std::string_view pool) {
  using std::chrono::duration_cast;
  using std::chrono::microseconds;
  const PageRequest& request = connection.request();
  const std::string_view uri = request.get(http::parameter::kRequestUri);
  const std::string_view target = uri.empty() ? request.path() : uri;
  const std::size_t question = std::min(target.find('?'), target.size());
  base::AccessRecord record;
  record.pool = pool;
  record.pid = ::getpid();
  record.parent = ::getppid();
  record.written =
      duration_cast<microseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  record.duration =
      duration_cast<microseconds>(std::chrono::steady_clock::now() - connection.began()).count();
  record.received = record.written - record.duration;
  record.remote_address = request.get(http::parameter::kRemoteAddress);
  record.method = request.get(http::parameter::kRequestMethod);
  record.path = target.substr(0, question);
  record.query = target.substr(std::min(question + 1, target.size()));
  record.content_length =
      base::parse_number<std::uint64_t>(request.get(http::parameter::kContentLength)).value_or(0);
  record.status = connection.status();
  record.reply_size = connection.replied();
  record.operation = "page";
  return record;
}

}  // namespace quarry::pages
