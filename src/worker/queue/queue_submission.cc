#include "queue_submission.h"

#include <unistd.h>

#include <array>
#include <memory>
#include <utility>

#include "quarry/changes/triggers.h"

namespace quarry::worker {
namespace {

using base::Result;
using changes::ChangeSetName;

std::string host_part() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  const std::string part = changes::name_part(name.data());
  return part.empty() ? "localhost" : part;
}

ChangeSetName name_for(const Sending& sending) {
  return {.id = changes::ChangeSetId::random(),
          .tai = changes::tai64n(sending.time),
          .pid = ::getpid(),
          .host = host_part(),
          .type = sending.type,
          .extra = changes::name_part(sending.submitter)};
}

Result<void> take_in(base::File& file, const Sending& sending) {
  QUARRY_TRY(sending.read([&](std::string_view bytes) { return file.append(bytes); }));
  return sending.confirm();
}

}  // namespace

Result<ChangeSetName> submit(changes::Directories& directories, const Sending& sending) {
  const ChangeSetName name = name_for(sending);
  auto file = directories.begin(name);
  if (!file && file.error().code == base::ErrorCode::kNotFound) {
    // The first one.
    QUARRY_TRY(directories.make());
    file = directories.begin(name);
  }
  if (!file) return std::unexpected(file.error());
  if (auto taken = take_in(**file, sending); !taken) {
    directories.give_up(name);
    return std::unexpected(std::move(taken).error());
  }
  QUARRY_TRY(directories.submit(name, std::move(*file),
                                {.submitter = sending.submitter,
                                 .capabilities = sending.capabilities,
                                 .address = sending.address,
                                 .time = sending.time}));
  changes::pull(directories.control(""), changes::Trigger::kPrequeue);
  return name;
}

}  // namespace quarry::worker
