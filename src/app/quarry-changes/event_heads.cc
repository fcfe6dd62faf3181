#include "event_heads.h"

#include <algorithm>
#include <string_view>

#include "quarry/base/spawn.h"
#include "quarry/repository/personal_address.h"
#include "quarry/repository/repository.h"
#include "quarry/repository/settings.h"

namespace quarry::app {
namespace {

constexpr std::chrono::seconds kHeadTtl{60};
constexpr std::chrono::seconds kAddressTtl{2};
constexpr std::size_t kMaxAddresses = 1'000;
constexpr std::size_t kMaxText = 4'096;  // limit on the size of a setting

/// Returns the project's code, name and URL, each with a final NUL.
std::string texts_of(const std::filesystem::path& file) {
  const auto repository = repository::Repository::open(file);
  if (!repository) return {};
  auto settings = (*repository)->settings();
  std::string all;
  for (const std::string& each :
       {std::string(settings.project_code()), settings.get("project-name").value_or(""),
        settings.get("email-url").value_or("")}) {
    all += each.substr(0, std::min(each.find('\0'), kMaxText)) + '\0';
  }
  return all;
}

}  // namespace

std::string EventHeads::served_name(const std::filesystem::path& file) const {
  if (folder_.empty()) return file.stem().string();
  return file.lexically_relative(folder_).replace_extension().string();
}

std::string EventHeads::address_of(const std::filesystem::path& file, const std::string& login) {
  const auto now = std::chrono::steady_clock::now();
  if (addresses_.size() > kMaxAddresses) addresses_.clear();
  CachedAddress& cached = addresses_[{file, login}];
  if (now < cached.until) return cached.address;
  cached.address =
      base::run_in_child([&] {
        const auto repository = repository::Repository::open(file);
        if (!repository) return std::string();
        const auto snapshot = (*repository)->snapshot();
        if (!snapshot) return std::string();
        return repository::personal_address(**repository, login).value_or(std::string());
      }).value_or(std::string());
  cached.until = now + kAddressTtl;
  return cached.address;
}

const event::Head& EventHeads::of(const std::filesystem::path& file) {
  const auto now = std::chrono::steady_clock::now();
  CachedHead& cached = heads_[file];
  if (now < cached.until) return cached.head;
  cached.head.repository = served_name(file);
  const std::string all = base::run_in_child([&] { return texts_of(file); }).value_or("");
  std::string_view rest = all;
  for (std::string* text :
       {&cached.head.project_code, &cached.head.project_name, &cached.head.url}) {
    const std::size_t end = rest.find('\0');
    if (end == rest.npos) return cached.head;  // incomplete: try again at the next call
    *text = rest.substr(0, end);
    rest.remove_prefix(end + 1);
  }
  cached.until = now + kHeadTtl;
  return cached.head;
}

}  // namespace quarry::app
