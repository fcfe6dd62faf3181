#include "status_document.h"

#include <fmt/core.h>

#include <algorithm>

#include "quarry/base/escape.h"

namespace quarry::app {

base::Result<StatusDocument> parse_status(const std::string& text) {
  StatusDocument document = StatusDocument::parse(text, nullptr, false);
  if (document.contains("error")) {
    return base::fail(
        base::ErrorCode::kDenied,
        fmt::format("quarryd says: {}", base::printable(StatusObject(document).text("error"))));
  }
  if (document.contains("pools")) return document;
  return base::fail(base::ErrorCode::kInvalid, "the answer is not a status of quarryd");
}

const StatusDocument& StatusObject::member(const char* name) const {
  static const StatusDocument none;
  const auto at = object_->find(name);
  return at == object_->end() ? none : *at;
}

const StatusDocument& StatusObject::list(const char* name) const {
  static const StatusDocument none = StatusDocument::array();
  const StatusDocument& found = member(name);
  return found.is_array() ? found : none;
}

std::uint64_t StatusObject::number(const char* name) const {
  const StatusDocument& found = member(name);
  return found.is_number_unsigned() ? found.get<std::uint64_t>() : 0;
}

std::int64_t StatusObject::instant(const char* name) const {
  constexpr std::uint64_t kLast = 1'000'000'000'000;
  return static_cast<std::int64_t>(std::min(number(name), kLast));
}

double StatusObject::fraction(const char* name) const {
  const StatusDocument& found = member(name);
  return found.is_number() ? found.get<double>() : 0;
}

std::string StatusObject::text(const char* name) const {
  const StatusDocument& found = member(name);
  return found.is_string() ? found.get<std::string>() : std::string();
}

std::string pool_of_service(StatusObject service) {
  const std::string name = service.text("service");
  return name.substr(name.find(' ') + 1);
}

double rate_between(StatusObject before, StatusObject after, const char* name, double seconds) {
  if (seconds <= 0) return 0;
  const bool is_anew = before.instant("start time") != after.instant("start time");
  const std::uint64_t last = is_anew ? 0 : before.number(name);
  const std::uint64_t now = after.number(name);
  return now <= last ? 0 : static_cast<double>(now - last) / seconds;
}

}  // namespace quarry::app
