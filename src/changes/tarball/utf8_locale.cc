#include "utf8_locale.h"

#include <locale.h>

namespace quarry::changes {

Utf8Locale::Utf8Locale()
    : locale_(::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)),
      before_(::uselocale(static_cast<locale_t>(locale_))) {}

Utf8Locale::~Utf8Locale() {
  ::uselocale(static_cast<locale_t>(before_));
  if (locale_ != nullptr) ::freelocale(static_cast<locale_t>(locale_));
}

}  // namespace quarry::changes
