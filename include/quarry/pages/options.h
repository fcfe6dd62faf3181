// Settings of the process that serves a pool's web pages.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace quarry::pages {

enum class Source : std::uint8_t {
  kNone,    // no pages; the reply is a line of text with the URL to clone
  kFossil,  // fossil's own pages, made by a `fossil` process
};

struct Options {
  Source source = Source::kNone;
  /// The fossil program. A name without a slash is looked up in PATH.
  std::string program = "fossil";

  /// Maximum number of pages that are made at the same time. Each takes one process.
  std::size_t max_children = 8;
  /// Maximum number of pages that are made for one address at the same time. An IPv6 /64 network
  /// counts as one address. 0: no limit.
  std::size_t max_children_per_address = 2;
  /// Number of idle processes that are started in advance, so that a request does not have to wait
  /// for a process to start.
  std::size_t spare_children = 2;
  /// Maximum number of requests that wait because max_children pages are being made. When the limit
  /// is exceeded, the last request of the address with the most waiting requests is refused with
  /// status 503.
  std::size_t max_waiting = 200;
  /// Time limit for making a page, and for each wait until the client reads more of the page.
  std::chrono::milliseconds timeout{60'000};
  /// Maximum size of the address space of each process in bytes.
  std::size_t max_memory = std::size_t{2} << 30;
  /// Maximum size of a request's body in bytes. The body is buffered in memory. A larger body is
  /// refused with status 413.
  std::size_t max_body = std::size_t{100} << 20;
  /// Maximum size of all buffered bodies in bytes. When the limit is exceeded, requests with a
  /// large body are refused with status 503. The same limit applies to all pages that clients have
  /// not read yet. When these pages exceed the limit, the connection with the most unread bytes is
  /// closed.
  std::size_t max_bodies = std::size_t{512} << 20;
  /// Maximum size of a page in bytes. Larger pages are aborted.
  std::size_t max_reply = std::size_t{1} << 30;
  /// Size of the cache of pages for anonymous visitors, in bytes.
  std::size_t cache = std::size_t{64} << 20;
  /// Maximum age of a cached page; 0 disables the cache. The age is limited because pages contain
  /// relative times.
  std::chrono::milliseconds cache_ttl{60'000};
  /// Increment of the nice value of the processes, so that syncs have priority. If the kernel has
  /// autogroup (sched(7)), the session of the processes gets the same nice value.
  int nice = 10;
  /// Whether the processes are confined (base/confinement.h), if the kernel supports it. Confined
  /// processes can write only to the folder of the repositories and to a temporary folder, and
  /// execute only PROGRAM.
  bool is_confined = true;
  /// Exceptions from the confinement: files, or folders with everything in them.
  std::vector<std::string> allow_write = {};
  std::vector<std::string> allow_execute = {};
};

struct ServedRepositories {
  /// Exactly one of the members is set: `repository`, a single repository, or `repositories`, a
  /// folder with NAME.fossil files.
  std::filesystem::path repository;
  std::filesystem::path repositories;
  /// Whether to accept the user that the web server has authenticated (REMOTE_USER).
  bool trust_remote_user = false;
  /// Whether the root of the folder shows an index.
  bool has_index = false;
};

}  // namespace quarry::pages
