#include "quarry/courier/deliveries.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "quarry/base/file_system.h"
#include "quarry/base/number.h"

namespace quarry::courier {
namespace {

using base::FileSystem;
using base::FileUse;
using Json = nlohmann::json;

constexpr std::string_view kSuffix = ".json";
// The JSON of an event has at most kMaxKeptEvent bytes. A file contains this JSON as a string, so
// its characters are escaped again.
constexpr std::size_t kMaxDeliveryFile = 8 * kMaxKeptEvent;

std::filesystem::path file_of(const std::filesystem::path& folder, std::uint64_t id) {
  return folder / fmt::format("{}{}", id, kSuffix);
}

Json json_of(const Delivery& delivery) {
  return {{"id", delivery.id},
          {"attempts", delivery.attempts},
          {"type", delivery.type},
          {"webhook", delivery.webhook},
          {"time", delivery.time.value},
          {"duration", delivery.duration.count()},
          {"status", delivery.status},
          {"error", delivery.error},
          {"response", delivery.response},
          {"event", delivery.event}};
}

Delivery delivery_in(const Json& from) {
  return {.id = from.at("id"),
          .attempts = from.at("attempts"),
          .type = from.at("type"),
          .webhook = from.value("webhook", ""),
          .time = {from.at("time")},
          .duration = std::chrono::milliseconds(from.at("duration").get<std::int64_t>()),
          .status = from.at("status"),
          .error = from.at("error"),
          .response = from.at("response"),
          .event = from.at("event")};
}

Result<std::vector<std::uint64_t>> ids_in(const std::filesystem::path& folder) {
  std::vector<std::uint64_t> ids;
  QUARRY_TRY_ASSIGN(const auto names, FileSystem::real().list(folder));
  for (std::string_view name : names) {
    if (!name.ends_with(kSuffix)) continue;
    name.remove_suffix(kSuffix.size());
    if (const auto id = base::parse_number<std::uint64_t>(name)) ids.push_back(*id);
  }
  return ids;
}

}  // namespace

std::filesystem::path deliveries_folder(const std::filesystem::path& spool,
                                        const std::string& name) {
  return spool / "deliveries" / name;
}

Result<Delivery> read_delivery(const std::filesystem::path& folder, std::uint64_t id) {
  const auto path = file_of(folder, id);
  QUARRY_TRY_ASSIGN(const auto file, FileSystem::real().open(path, FileUse::kRead));
  QUARRY_TRY_ASSIGN(const std::uint64_t size, file->size());
  std::string text(std::min<std::uint64_t>(size, kMaxDeliveryFile), '\0');
  QUARRY_TRY_ASSIGN(const std::size_t length, file->read_at(0, text));
  text.resize(length);
  try {
    return delivery_in(Json::parse(text));
  } catch (const Json::exception&) {
    return fail(ErrorCode::kInvalid, "{} is not the record of a delivery", path.string());
  }
}

Result<std::vector<Delivery>> read_deliveries(const std::filesystem::path& folder) {
  std::vector<Delivery> deliveries;
  const auto ids = ids_in(folder);
  if (!ids && ids.error().code == ErrorCode::kNotFound) return deliveries;
  if (!ids) return std::unexpected(ids.error());
  for (const std::uint64_t id : *ids) {
    auto read = read_delivery(folder, id);
    // The courier might have removed the file, or a crash might have damaged it.
    if (read) deliveries.push_back(std::move(*read));
    if (!read && read.error().code == ErrorCode::kDenied) return std::unexpected(read.error());
  }
  std::ranges::sort(deliveries, [](const Delivery& a, const Delivery& b) {
    return a.time.value != b.time.value ? a.time.value > b.time.value : a.id > b.id;
  });
  return deliveries;
}

void remove_deliveries_except(const std::filesystem::path& spool,
                              const std::vector<std::string>& names) {
  const auto folders = FileSystem::real().list(deliveries_folder(spool, ""));
  for (const std::string& name : folders.value_or(std::vector<std::string>())) {
    std::error_code ignored;
    if (std::ranges::find(names, name) == names.end()) {
      std::filesystem::remove_all(deliveries_folder(spool, name), ignored);
    }
  }
}

Result<void> DeliveryLog::open() {
  QUARRY_TRY(FileSystem::real().make_folder(folder_.parent_path()));
  QUARRY_TRY(FileSystem::real().make_folder(folder_));
  QUARRY_TRY_ASSIGN(const auto kept, read_deliveries(folder_));
  ids_.emplace();
  for (const Delivery& each : kept) ids_->push_front(each.id);
  return {};
}

Result<void> DeliveryLog::add(const Delivery& delivery) {
  FileSystem& files = FileSystem::real();
  if (!ids_) QUARRY_TRY(open());
  const std::string text =
      json_of(delivery).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  const auto path = file_of(folder_, delivery.id);
  const auto fresh = folder_ / "new";
  // An earlier courier might have left an incomplete file.
  QUARRY_TRY_ASSIGN(const auto file, files.open(fresh, FileUse::kOpenOrMake));
  QUARRY_TRY(file->truncate(0));
  QUARRY_TRY(file->append(text));
  QUARRY_TRY(files.rename(fresh, path));
  std::erase(*ids_, delivery.id);
  ids_->push_back(delivery.id);
  while (ids_->size() > max_kept_) {
    QUARRY_TRY(files.remove(file_of(folder_, ids_->front())));
    ids_->pop_front();
  }
  return {};
}

}  // namespace quarry::courier
