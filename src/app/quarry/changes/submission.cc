#include "submission.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

namespace quarry::app {

using base::ErrorCode;
using base::fail;
using base::Result;

Result<std::string> packed(const changes::Meta& meta, std::span<const changes::FileToSubmit> files,
                           std::size_t max_size) {
  std::string tarball;
  QUARRY_TRY(changes::write_tarball(
      [&](std::string_view bytes) -> Result<void> {
        if (tarball.size() + bytes.size() > max_size) {
          return fail(ErrorCode::kLimit,
                      fmt::format("the change set is larger than {} bytes", max_size));
        }
        tarball += bytes;
        return {};
      },
      meta, files));
  return tarball;
}

Result<changes::ChangeSetId> send(const QueueClient& client, changes::MoveType type,
                                  std::string_view tarball) {
  QUARRY_TRY_ASSIGN(const std::string reply,
                    client.post("", fmt::format("type={}", word_of(type)),
                                "application/x-quarry-change-set", tarball));
  const auto json = nlohmann::json::parse(reply, nullptr, /*allow_exceptions=*/false);
  if (json.is_object() && json.contains("id") && json["id"].is_string()) {
    if (const auto id = changes::ChangeSetId::parse(json["id"].get<std::string>())) return *id;
  }
  return fail(ErrorCode::kInvalid, "the server's answer has no id of a change set");
}

}  // namespace quarry::app
