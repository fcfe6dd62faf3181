#include "event_heads.h"

#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "quarry/base/fd.h"
#include "quarry/repository/personal_address.h"
#include "quarry/repository/repository.h"
#include "quarry/repository/settings.h"

namespace quarry::app {
namespace {

constexpr std::chrono::seconds kKnownFor{60};
constexpr std::chrono::seconds kAddressKnownFor{2};
constexpr std::size_t kMostAddresses = 1'000;
constexpr std::size_t kMostText = 4'096;  // of one setting; a pipe takes all of them at once

/// The project's code, its name and its address, each with a zero behind it.
std::string texts_of(const std::filesystem::path& file) {
  const auto repository = repository::Repository::open(file);
  if (!repository) return {};
  auto settings = (*repository)->settings();
  std::string all;
  for (const std::string& each :
       {std::string(settings.project_code()), settings.get("project-name").value_or(""),
        settings.get("email-url").value_or("")}) {
    all += each.substr(0, std::min(each.find('\0'), kMostText)) + '\0';
  }
  return all;
}

using Read = std::function<std::string(const std::filesystem::path& file)>;

[[noreturn]] void tell_and_end(const std::filesystem::path& file, const Read& read, int to) {
  try {
    const std::string all = read(file);
    ::_exit(::write(to, all.data(), all.size()) == static_cast<ssize_t>(all.size()) ? 0 : 1);
  } catch (const std::exception&) {
    ::_exit(1);
  }
}

/// What READ finds in FILE, in a process of its own.
std::string ask_about(const std::filesystem::path& file, const Read& read) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  base::Fd from(ends[0]), to(ends[1]);
  const pid_t pid = ::fork();
  if (pid == 0) tell_and_end(file, read, to.get());
  to.reset();
  if (pid < 0) return {};
  std::string all;
  std::array<char, 4'096> bytes{};
  ssize_t count = 0;
  while ((count = ::read(from.get(), bytes.data(), bytes.size())) > 0 ||
         (count < 0 && errno == EINTR)) {
    if (count > 0) all.append(bytes.data(), static_cast<std::size_t>(count));
  }
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
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
  if (addresses_.size() > kMostAddresses) addresses_.clear();
  Address& known = addresses_[{file, login}];
  if (now < known.until) return known.address;
  known.address = ask_about(file, [&](const std::filesystem::path& path) {
    const auto repository = repository::Repository::open(path);
    if (!repository) return std::string();
    const auto snapshot = (*repository)->snapshot();
    if (!snapshot) return std::string();
    return repository::personal_address(**repository, login).value_or(std::string());
  });
  known.until = now + kAddressKnownFor;
  return known.address;
}

const event::Head& EventHeads::of(const std::filesystem::path& file) {
  const auto now = std::chrono::steady_clock::now();
  Known& known = known_[file];
  if (now < known.until) return known.head;
  known.head.repository = served_name(file);
  const std::string all = ask_about(file, texts_of);
  std::string_view rest = all;
  for (std::string* text : {&known.head.project_code, &known.head.project_name, &known.head.url}) {
    const std::size_t end = rest.find('\0');
    if (end == rest.npos) return known.head;  // it is asked again the next time
    *text = rest.substr(0, end);
    rest.remove_prefix(end + 1);
  }
  known.until = now + kKnownFor;
  return known.head;
}

}  // namespace quarry::app
