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

ChangeSetName name_for(const IncomingChangeSet& incoming) {
  return {.id = changes::ChangeSetId::random(),
          .tai = changes::tai64n(incoming.time),
          .pid = ::getpid(),
          .host = host_part(),
          .type = incoming.type,
          .extra = changes::name_part(incoming.submitter)};
}

Result<void> receive(base::File& file, const IncomingChangeSet& incoming) {
  QUARRY_TRY(incoming.read([&](std::string_view bytes) { return file.append(bytes); }));
  return incoming.confirm();
}

}  // namespace

Result<void> make_folders(changes::Directories& directories) {
  // Check all, since another process may be in the middle of making them.
  for (std::size_t i = 0; i < changes::kStages; ++i) {
    std::error_code error;
    if (std::filesystem::is_directory(directories.folder(static_cast<changes::Stage>(i)), error)) {
      continue;
    }
    // For a repository in its own subfolder.
    std::filesystem::create_directories(directories.base().parent_path(), error);
    return directories.make();
  }
  return {};
}

Result<ChangeSetName> submit(changes::Directories& directories, const IncomingChangeSet& incoming) {
  QUARRY_TRY(make_folders(directories));
  const ChangeSetName name = name_for(incoming);
  QUARRY_TRY_ASSIGN(auto file, directories.begin(name));
  if (auto taken = receive(*file, incoming); !taken) {
    directories.give_up(name);
    return std::unexpected(std::move(taken).error());
  }
  QUARRY_TRY(directories.submit(name, std::move(file),
                                {.submitter = incoming.submitter,
                                 .capabilities = incoming.capabilities,
                                 .address = incoming.address,
                                 .time = incoming.time}));
  changes::pull(directories.control(""), changes::Trigger::kPrequeue);
  return name;
}

}  // namespace quarry::worker
