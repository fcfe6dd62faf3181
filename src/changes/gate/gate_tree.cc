#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>
#include <system_error>

#include "quarry/base/fd.h"
#include "quarry/changes/gate.h"

namespace quarry::changes {
namespace {

using base::Result;

Result<std::string> content_of(const std::string& path) {
  const base::Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file) return base::fail_errno("cannot read " + path);
  std::string content;
  std::array<char, 65536> buffer{};
  while (true) {
    const ssize_t size = ::read(file.get(), buffer.data(), buffer.size());
    if (size < 0) return base::fail_errno("cannot read " + path);
    if (size == 0) return content;
    content.append(buffer.data(), static_cast<std::size_t>(size));
  }
}

}  // namespace

Result<void> GateTree::add(std::string_view name, char permission, std::string_view content) {
  return writer_.add("tree/" + std::string(name), permission, content);
}

Result<void> GateTree::add_folder(const std::filesystem::path& folder) {
  std::error_code error;
  using Walk = std::filesystem::recursive_directory_iterator;
  for (Walk at(folder, error); !error && at != Walk(); at.increment(error)) {
    const std::string name = at->path().lexically_relative(folder);
    const auto status = at->symlink_status();
    if (std::filesystem::is_symlink(status)) {
      QUARRY_TRY(add(name, 'l', std::filesystem::read_symlink(at->path()).string()));
    } else if (std::filesystem::is_regular_file(status)) {
      const bool is_program = (status.permissions() & std::filesystem::perms::owner_exec) !=
                              std::filesystem::perms::none;
      QUARRY_TRY_ASSIGN(const std::string content, content_of(at->path()));
      QUARRY_TRY(add(name, is_program ? 'x' : 0, content));
    }
  }
  if (!error) return {};
  return base::fail(base::ErrorCode::kIo,
                    "cannot read " + folder.string() + ": " + error.message());
}

}  // namespace quarry::changes
