#include "first_user.h"

#include <openssl/rand.h>
#include <pwd.h>
#include <unistd.h>

#include <string_view>

namespace quarry::app {

std::string login_of_caller() {
  const passwd* entry = ::getpwuid(::geteuid());
  return entry != nullptr ? entry->pw_name : "admin";
}

std::string random_password() {
  constexpr std::string_view kAlphabet = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
  std::string password;
  while (password.size() < 10) {
    unsigned char byte = 0;
    if (RAND_bytes(&byte, 1) != 1) return {};
    // Rejection sampling: larger bytes would make some letters more likely.
    if (byte < 256 / kAlphabet.size() * kAlphabet.size())
      password += kAlphabet[byte % kAlphabet.size()];
  }
  return password;
}

}  // namespace quarry::app
