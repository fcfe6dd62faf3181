// Tables of directives. Each entry contains the field for the value and the kind of the value. The
// kind determines how the value is parsed and shown.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quarry/base/escape.h"
#include "quarry/base/result.h"

// An accessor for the field of a directive; works for const and non-const sections.
#define QUARRY_FIELD(member) ([](auto& section) -> auto& { return section.member; })

namespace quarry::master {

/// A directive's value in the configuration's syntax: empty if the directive is not set, several
/// entries for a list.
using Shown = std::vector<std::string>;

template <typename Section>
struct Directive {
  /// Creates the entry of a directive. FIELD, a lambda without captures, returns the field. KIND
  /// (kinds.h) parses and shows the value.
  template <typename Kind, typename Field>
  constexpr Directive(std::string_view its_name, Kind, Field)
      : name(its_name),
        set([](Section& section, const std::string& value) {
          return Kind::put(Field{}(section), value);
        }),
        show([](const Section& section) { return Shown(Kind::show(Field{}(section))); }),
        is_relative([](std::string_view value) {
          if constexpr (requires { Kind::is_relative(value); }) return Kind::is_relative(value);
          return false;
        }) {}

  std::string_view name;
  Result<void> (*set)(Section&, const std::string& value);
  Shown (*show)(const Section&);
  bool (*is_relative)(std::string_view value);
};

/// A directive and its values. The list of values is empty if the directive is not set.
struct ShownDirective {
  std::string name;
  Shown values;
};

/// Returns the directive KEY, or null.
template <typename Section>
const Directive<Section>* find_directive(std::span<const Directive<Section>> table,
                                         std::string_view key) {
  const auto at = std::ranges::find(table, key, &Directive<Section>::name);
  return at == table.end() ? nullptr : &*at;
}

/// Sets KEY in SECTION. Errors: kInvalid (unknown directive or invalid value).
template <typename Section>
Result<void> set_in(std::span<const Directive<Section>> table, Section& section,
                    std::string_view key, const std::string& value) {
  const Directive<Section>* directive = find_directive(table, key);
  if (directive == nullptr) {
    return fail(ErrorCode::kInvalid, "unknown directive {}", base::printable(key));
  }
  auto set = directive->set(section, value);
  if (set) return {};
  return fail(set.error().code, "{}: {}", key, set.error().message);
}

template <typename Section>
bool is_relative_in(std::span<const Directive<Section>> table, std::string_view key,
                    std::string_view value) {
  const Directive<Section>* directive = find_directive(table, key);
  return directive != nullptr && directive->is_relative(value);
}

template <typename Section>
std::vector<ShownDirective> shown_in(std::span<const Directive<Section>> table,
                                     const Section& section) {
  std::vector<ShownDirective> shown;
  for (const Directive<Section>& each : table) {
    shown.push_back({std::string(each.name), each.show(section)});
  }
  return shown;
}

/// The directives of a section that the master does not interpret but passes on to its children.
class CarriedOptions {
 public:
  virtual ~CarriedOptions() = default;
  virtual bool has(std::string_view key) const = 0;
  virtual Result<void> set(std::string_view key, const std::string& value) = 0;
  virtual bool is_relative(std::string_view key, std::string_view value) const = 0;
  virtual std::vector<ShownDirective> shown() const = 0;
  /// Checks the section as a whole. Called after all its directives have been read. Errors:
  /// kInvalid.
  virtual Result<void> check() const { return {}; }
};

/// Options that are described by a table of directives. The table must outlive this object.
template <typename Options>
class OptionsBy : public CarriedOptions {
 public:
  explicit OptionsBy(std::span<const Directive<Options>> table, Options options = {})
      : table_(table), options_(std::move(options)) {}

  const Options& options() const { return options_; }
  bool has(std::string_view key) const override { return find_directive(table_, key) != nullptr; }
  Result<void> set(std::string_view key, const std::string& value) override {
    return set_in(table_, options_, key, value);
  }
  bool is_relative(std::string_view key, std::string_view value) const override {
    return is_relative_in(table_, key, value);
  }
  std::vector<ShownDirective> shown() const override { return shown_in(table_, options_); }

 private:
  std::span<const Directive<Options>> table_;
  Options options_;
};

/// Returns the options in CARRIED, which must be an OptionsBy<Options> or null. For null, returns
/// defaults.
template <typename Options>
Options options_in(const std::shared_ptr<const CarriedOptions>& carried) {
  const auto* found = dynamic_cast<const OptionsBy<Options>*>(carried.get());
  return found == nullptr ? Options() : found->options();
}

}  // namespace quarry::master
