// Sets the locale that libarchive needs.
#pragma once

#include <locale.h>

namespace quarry::changes {

/// Sets a locale of this thread in which libarchive does not convert UTF-8. The destructor restores
/// the previous locale.
class Utf8Locale {
 public:
  Utf8Locale()
      : locale_(::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)), before_(::uselocale(locale_)) {}
  ~Utf8Locale() {
    ::uselocale(before_);
    if (locale_ != nullptr) ::freelocale(locale_);
  }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

 private:
  locale_t locale_;
  locale_t before_;
};

}  // namespace quarry::changes
