#include "configuration.h"

namespace quarry::sync {
namespace {

using repository::ConfigAreas;

}  // namespace

ConfigAreas Configuration::allowed(ConfigAreas areas) const {
  if (!sync_user_.may(Right::kRead)) return 0;
  if (!sync_user_.may(Right::kAdmin)) {
    areas &= ~(repository::kConfigUser | repository::kConfigSubscriber);
  }
  if (!sync_user_.may(Right::kReadAddresses)) areas &= ~repository::kConfigEmail;
  return areas;
}

void Configuration::request(const CardReader& card) {
  const std::string_view name = card[1];
  if (name.starts_with('/')) {
    const ConfigAreas areas = allowed(repository::config_areas(name.substr(1))) & ~areas_;
    if (areas == 0) return;
    areas_ |= areas;
    repository_.settings().visit_configuration(
        areas,
        [this](std::string_view table, std::string_view row) { writer_.config(table, row); });
    return;
  }
  if (allowed(repository::areas_of_setting(name)) == 0 || settings_.contains(name)) return;
  const auto value = repository_.settings().get(name);
  if (!value || value->empty()) return;
  settings_.emplace(name);
  writer_.config(name, *value);
}

Result<void> Configuration::receive(const CardReader& card) {
  if (!sync_user_.may(Right::kAdmin)) {
    return fail(ErrorCode::kDenied, "not authorized to push configuration");
  }
  const std::string_view name = card[1];
  if (name.starts_with('@')) {
    return fail(ErrorCode::kDenied,
                "configuration as SQL is not accepted: use Fossil 1.19 or later");
  }
  areas_ = 0;
  settings_.clear();
  if (!name.starts_with('/')) {
    if (repository::areas_of_setting(name) == 0) return {};
    return intake_.store([&](repository::Receipt& receipt) -> Result<bool> {
      QUARRY_TRY(receipt.set_config(name, card.payload()));
      return true;
    });
  }
  const auto record = repository::parse_config_record(name, card.payload());
  if (!record) return {};
  if (record->table == "config" && repository::areas_of_setting(record->key) == 0) return {};
  return intake_.store([&](repository::Receipt& receipt) { return receipt.merge_config(*record); });
}

}  // namespace quarry::sync
