#include "quarry/libraries/at_once.h"

#include <initializer_list>

#include "loaded_library.h"

namespace quarry::libraries {

void load_at_once() {
  for (const char* name : {kLibcrypto, kLibdeflate, kZlib}) {
    [[maybe_unused]] const LoadedLibrary loaded(name);
  }
}

}  // namespace quarry::libraries
