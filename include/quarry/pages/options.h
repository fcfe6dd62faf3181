// The web pages of a pool's repositories: what answers them, and its bounds.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace quarry::pages {

enum class Source : std::uint8_t {
  kNone,    // there are none: a line of text says how to clone
  kFossil,  // fossil's own, by a `fossil` that we run
};

struct Options {
  Source source = Source::kNone;
  /// Found in PATH where it has no slash.
  std::string program = "fossil";

  /// Pages that are made at the same time, each by a process of its own.
  std::size_t max_children = 8;
  /// Processes that wait for a request, so that none has to wait for the start of one.
  std::size_t spare_children = 2;
  /// Requests that wait for one of max_children; for one more: 503.
  std::size_t max_waiting = 200;
  /// To make a page, and for each piece of one to be taken by its visitor.
  std::chrono::milliseconds timeout{60'000};
  /// Bytes of address space of each process.
  std::size_t max_memory = std::size_t{2} << 30;
  /// Bytes of a request's body, held in memory; over it: 413.
  std::size_t max_body = std::size_t{100} << 20;
  /// Bytes of all bodies at the same time; over it: 503.
  std::size_t max_bodies = std::size_t{512} << 20;
  /// Bytes of a page; beyond it, it is broken off.
  std::size_t max_reply = std::size_t{1} << 30;
  /// Bytes of pages that are kept for anonymous visitors.
  std::size_t cache = std::size_t{64} << 20;
  /// For so long at most, since they say how old things are; 0: not at all.
  std::chrono::milliseconds cache_ttl{60'000};
  /// Added to the niceness of the processes, and of their session: syncs go first.
  int nice = 10;
};

/// What is served, to be known by whoever serves it.
struct ServedRepositories {
  /// One of the two: the only repository, or a folder with NAME.fossil files.
  std::filesystem::path repository;
  std::filesystem::path repositories;
  /// REMOTE_USER names who the web server authenticated.
  bool trust_remote_user = false;
};

}  // namespace quarry::pages
