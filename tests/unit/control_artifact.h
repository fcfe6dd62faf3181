#pragma once

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "quarry/artifact/digest.h"
#include "quarry/artifact/fossilize.h"
#include "quarry/artifact/structural.h"

/// The fields of a control artifact. The type is defined here because the server itself never makes
/// control artifacts.
struct ControlText {
  quarry::base::UnixMillis date;
  std::string user;
  struct Tag {
    char kind;
    std::string name;
    quarry::artifact::HashName target;
    std::string value = {};  // may be empty
  };
  std::vector<Tag> tags;
};

inline std::string format_control(ControlText control) {
  using quarry::artifact::fossilize;
  std::ranges::sort(control.tags, {}, [](const ControlText::Tag& tag) {
    return std::tuple<char, std::string, std::string>(tag.kind, tag.name, tag.target.str());
  });
  std::string text = "D " + quarry::base::iso_millis(control.date) + "\n";
  for (const auto& [kind, name, target, value] : control.tags) {
    text.append("T ").append(1, kind).append(fossilize(name)).append(" ").append(target.str());
    text.append(value.empty() ? "" : " " + fossilize(value)).append("\n");
  }
  text += "U " + fossilize(control.user) + "\n";
  return text + "Z " + quarry::artifact::md5_hex(text) + "\n";
}
