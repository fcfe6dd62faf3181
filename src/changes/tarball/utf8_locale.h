// The locale that libarchive needs.
#pragma once

namespace quarry::changes {

/// Sets a locale of this thread in which libarchive does not convert UTF-8; the destructor
/// restores the previous one.
class Utf8Locale {
 public:
  Utf8Locale();
  ~Utf8Locale();
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

 private:
  void* locale_;
  void* before_;
};

}  // namespace quarry::changes
