// Settings of the process that serves a pool's web pages.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace quarry::pages {

enum class Source : std::uint8_t {
  kNone,    // no pages; a line of text says how to clone
  kFossil,  // fossil's own pages, made by a `fossil` process that we run
};

struct Options {
  Source source = Source::kNone;
  /// The fossil program, which is looked up in PATH if it has no slash.
  std::string program = "fossil";

  /// Maximum number of pages made at the same time, each by its own process.
  std::size_t max_children = 8;
  /// Number of idle processes kept ready, so that a request need not wait for a process to start.
  std::size_t spare_children = 2;
  /// Maximum number of requests that wait for one of max_children. Further requests get a 503.
  std::size_t max_waiting = 200;
  /// Maximum time to make a page, and maximum time to wait until the client reads more of it.
  std::chrono::milliseconds timeout{60'000};
  /// Maximum size of each process's address space in bytes.
  std::size_t max_memory = std::size_t{2} << 30;
  /// Maximum size of a request's body in bytes. The body is buffered in memory; a larger one gets a
  /// 413.
  std::size_t max_body = std::size_t{100} << 20;
  /// Maximum size of all buffered bodies in bytes. When it is reached, requests get a 503.
  std::size_t max_bodies = std::size_t{512} << 20;
  /// Maximum size of a page in bytes. A larger page is aborted.
  std::size_t max_reply = std::size_t{1} << 30;
  /// Size of the cache of pages for anonymous visitors, in bytes.
  std::size_t cache = std::size_t{64} << 20;
  /// Maximum age of a cached page, which is limited because pages say how old things are; 0
  /// disables the cache.
  std::chrono::milliseconds cache_ttl{60'000};
  /// Added to the niceness of the processes and of their session, so that syncs have priority.
  int nice = 10;
};

/// The repositories whose pages are served.
struct ServedRepositories {
  /// Exactly one is set: a single repository, or a folder with NAME.fossil files.
  std::filesystem::path repository;
  std::filesystem::path repositories;
  /// Whether to trust the user that the web server has authenticated (REMOTE_USER).
  bool trust_remote_user = false;
};

}  // namespace quarry::pages
