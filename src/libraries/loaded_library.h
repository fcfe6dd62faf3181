// A library that is loaded when one of its functions is first called, instead of with the program.
//
// libcurl, GMime and libarchive bring some fifty other libraries with them, and of libcrypto's names
// the dynamic linker looks more up than of all others together: it takes longer for that than most
// commands take for their work, and few of these go over a network, write a mail or a tarball, or
// compute a digest. Here are functions with the names of theirs that this project calls, each of
// which finds the real one and calls it: who calls them writes what he would write without.
#pragma once

namespace quarry::libraries {

// What the dynamic linker knows them as.
inline constexpr const char* kLibcrypto = "libcrypto.so.3";
inline constexpr const char* kLibdeflate = "libdeflate.so.0";
inline constexpr const char* kZlib = "libz.so.1";

class LoadedLibrary {
 public:
  /// Loads what the dynamic linker knows as NAME. Where it cannot be loaded, the process ends with
  /// 127, as it does when the dynamic linker misses it at the start.
  explicit LoadedLibrary(const char* name);

  /// Of it, or of a library that it brought. Never null: the process ends as above.
  void* find(const char* function) const;

 private:
  void* handle_;
};

}  // namespace quarry::libraries

// The function NAME of what is called kLibrary where this stands.
#define QUARRY_LOADED(NAME)                                                                        \
  ([] {                                                                                            \
    static const auto found =                                                                      \
        reinterpret_cast<decltype(&NAME)>(quarry::libraries::LoadedLibrary(kLibrary).find(#NAME)); \
    return found;                                                                                  \
  }())
