#include "newer_schema.h"

#include <fmt/core.h>

#include "quarry/base/log.h"
#include "repository_state.h"
#include "store/database.h"
#include "store/schema.h"

namespace quarry::repository {

base::Result<void> check_aux_schema(const std::optional<std::string>& aux_schema) {
  if (!aux_schema || *aux_schema <= kAuxSchema) return {};
  return base::fail(base::ErrorCode::kInvalid,
                    fmt::format("a later Fossil has changed its tables: its aux-schema is \"{}\", "
                                "and \"{}\" is the last that is known here",
                                base::printable(*aux_schema, 40), kAuxSchema));
}

base::Result<void> check_aux_schema(Database& database) {
  if (!database.has_table("config")) return {};
  Query query = database.query("SELECT value FROM config WHERE name='aux-schema'");
  if (!query.step() || query.is_null(0)) return {};
  return check_aux_schema(std::string(query.text(0)));
}

base::Result<void> Repository::check_schema() {
  auto known = check_aux_schema(settings().get("aux-schema"));
  if (!known) known.error().message = fmt::format("{}: {}", path().string(), known.error().message);
  return known;
}

}  // namespace quarry::repository
