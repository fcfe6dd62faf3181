// libcrypto, when it is first called (loaded_library.h).
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "loaded_library.h"

namespace {

constexpr const char* kLibrary = quarry::libraries::kLibcrypto;

}  // namespace

extern "C" {

int CRYPTO_memcmp(const void* a, const void* b, size_t size) {
  return QUARRY_LOADED(CRYPTO_memcmp)(a, b, size);
}

int RAND_bytes(unsigned char* bytes, int size) {
  return QUARRY_LOADED(RAND_bytes)(bytes, size);
}

int EVP_EncodeBlock(unsigned char* text, const unsigned char* bytes, int size) {
  return QUARRY_LOADED(EVP_EncodeBlock)(text, bytes, size);
}

const EVP_MD* EVP_sha256() {
  return QUARRY_LOADED(EVP_sha256)();
}

EVP_MD* EVP_MD_fetch(OSSL_LIB_CTX* library, const char* algorithm, const char* properties) {
  return QUARRY_LOADED(EVP_MD_fetch)(library, algorithm, properties);
}

void EVP_MD_free(EVP_MD* digest) {
  QUARRY_LOADED(EVP_MD_free)(digest);
}

EVP_MD_CTX* EVP_MD_CTX_new() {
  return QUARRY_LOADED(EVP_MD_CTX_new)();
}

void EVP_MD_CTX_free(EVP_MD_CTX* context) {
  QUARRY_LOADED(EVP_MD_CTX_free)(context);
}

int EVP_MD_CTX_copy_ex(EVP_MD_CTX* to, const EVP_MD_CTX* from) {
  return QUARRY_LOADED(EVP_MD_CTX_copy_ex)(to, from);
}

int EVP_Digest(const void* bytes, size_t size, unsigned char* digest, unsigned int* digest_size,
               const EVP_MD* type, ENGINE* engine) {
  return QUARRY_LOADED(EVP_Digest)(bytes, size, digest, digest_size, type, engine);
}

int EVP_DigestInit_ex2(EVP_MD_CTX* context, const EVP_MD* type, const OSSL_PARAM* parameters) {
  return QUARRY_LOADED(EVP_DigestInit_ex2)(context, type, parameters);
}

int EVP_DigestUpdate(EVP_MD_CTX* context, const void* bytes, size_t size) {
  return QUARRY_LOADED(EVP_DigestUpdate)(context, bytes, size);
}

int EVP_DigestFinal_ex(EVP_MD_CTX* context, unsigned char* digest, unsigned int* size) {
  return QUARRY_LOADED(EVP_DigestFinal_ex)(context, digest, size);
}

// The last two only where several sources are compiled as one.

unsigned char* HMAC(const EVP_MD* type, const void* key, int key_size, const unsigned char* bytes,
                    size_t size, unsigned char* mac, unsigned int* mac_size) {
  return QUARRY_LOADED(HMAC)(type, key, key_size, bytes, size, mac, mac_size);
}

unsigned char* EVP_Q_mac(OSSL_LIB_CTX* library, const char* name, const char* properties,
                         const char* sub_algorithm, const OSSL_PARAM* parameters, const void* key,
                         size_t key_size, const unsigned char* bytes, size_t size,
                         unsigned char* mac, size_t room, size_t* mac_size) {
  return QUARRY_LOADED(EVP_Q_mac)(library, name, properties, sub_algorithm, parameters, key,
                                  key_size, bytes, size, mac, room, mac_size);
}

}  // extern "C"
