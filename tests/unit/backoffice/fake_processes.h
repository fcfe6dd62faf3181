// A fake process table.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "quarry/backoffice/holders.h"

class FakeProcesses final : public quarry::backoffice::ProcessTable {
 public:
  std::string host() const override { return name; }
  std::optional<std::int64_t> started(std::int64_t pid) const override {
    const auto at = alive.find(pid);
    return at == alive.end() ? std::nullopt : std::optional(at->second);
  }

  std::string name = "boot/1";
  std::map<std::int64_t, std::int64_t> alive;  // start times by process ID
};
