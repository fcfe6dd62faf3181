// Writes metrics for Prometheus, as text of version 0.0.4 or as OpenMetrics 1.0.0. In OpenMetrics,
// the family of a counter has the counter's name without _total, and the text has an end mark.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace quarry::scoreboard {

class Exposition {
 public:
  enum class Form { kText, kOpenMetrics };
  static constexpr std::string_view kCounter = "counter";
  static constexpr std::string_view kGauge = "gauge";
  /// Names and values of labels. The values are not trusted, and are escaped.
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  explicit Exposition(Form form) : form_(form) {}

  static std::string_view content_type_of(Form form);

  /// Begins a family of metrics. The caller must write all samples of the family before it begins
  /// the next one.
  void family(std::string_view name, std::string_view type, std::string_view help);
  /// Writes a sample of the current family. The name of the metric is the family's name followed by
  /// SUFFIX.
  void sample(Labels labels, std::uint64_t value, std::string_view suffix = "");
  /// Writes MICROSECONDS as seconds.
  void seconds(Labels labels, std::uint64_t microseconds, std::string_view suffix = "");
  /// Returns the whole text.
  std::string take();

 private:
  void begin_line(Labels labels, std::string_view suffix);

  Form form_;
  std::string family_;
  std::string out_;
};

}  // namespace quarry::scoreboard
