// What libarchive has to be called in.
#pragma once

namespace quarry::changes {

/// A locale in which libarchive leaves UTF-8 as it is; the thread's own again when it goes.
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
