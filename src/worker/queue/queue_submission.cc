#include "queue_submission.h"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <memory>
#include <system_error>
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

Result<void> make_folders(changes::Directories& directories) {
  // While somebody else makes them, the first are there and the others are not.
  for (std::size_t i = 0; i < changes::kStages; ++i) {
    std::error_code error;
    if (std::filesystem::is_directory(directories.folder(static_cast<changes::Stage>(i)), error)) {
      continue;
    }
    // Of a repository in a folder of its own.
    std::filesystem::create_directories(directories.base().parent_path(), error);
    return directories.make();
  }
  return {};
}

Result<ChangeSetName> submit(changes::Directories& directories, const Sending& sending) {
  QUARRY_TRY(make_folders(directories));
  const ChangeSetName name = name_for(sending);
  QUARRY_TRY_ASSIGN(auto file, directories.begin(name));
  if (auto taken = take_in(*file, sending); !taken) {
    directories.give_up(name);
    return std::unexpected(std::move(taken).error());
  }
  QUARRY_TRY(directories.submit(name, std::move(file),
                                {.submitter = sending.submitter,
                                 .capabilities = sending.capabilities,
                                 .address = sending.address,
                                 .time = sending.time}));
  changes::pull(directories.control(""), changes::Trigger::kPrequeue);
  return name;
}

}  // namespace quarry::worker
