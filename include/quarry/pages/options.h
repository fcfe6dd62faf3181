// Settings of the process that serves a pool's web pages.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace quarry::pages {

enum class Source : std::uint8_t {
  kNone,    // no pages: a line of text says how to clone
  kFossil,  // fossil's own pages, made by a `fossil` that we run
};

struct Options {
  Source source = Source::kNone;
  /// Looked up in PATH if it has no slash.
  std::string program = "fossil";

  /// Maximum number of pages made at the same time, each by its own process.
  std::size_t max_children = 8;
  /// Idle processes kept ready, so that a request need not wait for one to start.
  std::size_t spare_children = 2;
  /// Maximum number of requests that wait for one of max_children; further ones get 503.
  std::size_t max_waiting = 200;
  /// Time limit for making a page, and for each wait until the client takes more of it.
  std::chrono::milliseconds timeout{60'000};
  /// Limit on the address space of each process, in bytes.
  std::size_t max_memory = std::size_t{2} << 30;
  /// Limit on a request's body, which is held in memory, in bytes; a larger one gets 413.
  std::size_t max_body = std::size_t{100} << 20;
  /// Limit on all bodies held at the same time, in bytes; beyond it requests get 503.
  std::size_t max_bodies = std::size_t{512} << 20;
  /// Limit on the size of a page, in bytes; a larger one is aborted.
  std::size_t max_reply = std::size_t{1} << 30;
  /// Size of the cache of pages for anonymous visitors, in bytes.
  std::size_t cache = std::size_t{64} << 20;
  /// Maximum age of a cached page, since pages say how old things are; 0 disables the cache.
  std::chrono::milliseconds cache_ttl{60'000};
  /// Added to the niceness of the processes and of their session, so that syncs go first.
  int nice = 10;
};

/// Which repositories the pages are of.
struct ServedRepositories {
  /// Exactly one is set: a single repository, or a folder with NAME.fossil files.
  std::filesystem::path repository;
  std::filesystem::path repositories;
  /// Trust the user that the web server authenticated (REMOTE_USER).
  bool trust_remote_user = false;
};

}  // namespace quarry::pages
