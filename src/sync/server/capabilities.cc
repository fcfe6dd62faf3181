#include "capabilities.h"

#include <initializer_list>

namespace quarry::sync {

Capabilities Capabilities::of_letters(std::string_view letters) {
  Capabilities out;
  const auto grant = [&out](std::initializer_list<Right> rights) {
    for (const Right right : rights) out.grant(right);
  };
  for (const char letter : letters) {
    switch (letter) {
      case 's':
        grant({Right::kSetup});
        [[fallthrough]];
      case 'a':
        grant({Right::kAdmin, Right::kClone, Right::kRead, Right::kWrite, Right::kReadAddresses});
        break;
      case 'g':
        grant({Right::kClone});
        break;
      case 'o':
        grant({Right::kRead});
        break;
      case 'i':
        grant({Right::kWrite, Right::kRead});
        break;
      case 'x':
        grant({Right::kPrivate});
        break;
      case 'y':
        grant({Right::kWriteUnversioned});
        break;
      case 'e':
        grant({Right::kReadAddresses});
        break;
      default:
        break;
    }
  }
  return out;
}

}  // namespace quarry::sync
