// A library that is loaded when one of its functions is first called, instead of with the program.
//
// libcurl, GMime and libarchive bring some fifty other libraries with them, and libcrypto has more
// symbols than all else together: the dynamic linker takes longer for them than most commands take
// for their work, and few of these go over a network, write a mail or a tarball, or compute a digest.
// Here are functions with the names of theirs that this project calls,
// each of which finds the real one and calls it: who calls them writes what he would write without.
#pragma once

namespace quarry::libraries {

class LoadedLibrary {
 public:
  /// Loads what the dynamic linker knows as NAME. Where it is missing, the process ends with 127, as
  /// it does when the dynamic linker misses it at the start.
  explicit LoadedLibrary(const char* name);

  /// Of it, or of a library that it brought. Never null: the process ends as above.
  void* find(const char* function) const;

 private:
  void* handle_;
};

}  // namespace quarry::libraries

// The function NAME of the library that loaded() returns.
#define QUARRY_LOADED(NAME)                                                            \
  ([] {                                                                                \
    static const auto found = reinterpret_cast<decltype(&NAME)>(loaded().find(#NAME)); \
    return found;                                                                      \
  }())
