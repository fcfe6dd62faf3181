// The settings of TLS connections: protocol versions, and a certificate for each name.
#pragma once

#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>
#include <vector>

#include "quarry/base/event_handles.h"
#include "quarry/base/result.h"

namespace quarry::gateway {

using BioPtr = std::unique_ptr<BIO, base::FreeWith<BIO_free_all>>;
using X509Ptr = std::unique_ptr<X509, base::FreeWith<X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, base::FreeWith<EVP_PKEY_free>>;
using TlsContextPtr = std::unique_ptr<SSL_CTX, base::FreeWith<SSL_CTX_free>>;
using TlsSessionPtr = std::unique_ptr<SSL, base::FreeWith<SSL_free>>;

/// Returns the reason of the first error in OpenSSL's queue, and empties the queue.
std::string take_tls_error();

/// Returns the certificates in PEM, in order. Errors: kInvalid (a certificate is damaged or
/// incomplete).
Result<std::vector<X509Ptr>> certificates_in(BIO* pem);

/// Returns the settings for a server with CHAIN and KEY. CHAIN starts with the certificate of the
/// server. Errors: kInvalid (OpenSSL does not accept the certificate or the key, for example
/// because the key is too short).
Result<TlsContextPtr> make_context(const std::vector<X509Ptr>& chain, EVP_PKEY* key);

/// The certificates of the front.
class TlsContexts {
 public:
  TlsContexts() = default;
  TlsContexts(const TlsContexts&) = delete;
  TlsContexts& operator=(const TlsContexts&) = delete;

  /// Reads the memory files of certificates (quarry/gateway/certificate.h). The first one is the
  /// default. Errors: kInvalid.
  Result<void> load(const std::vector<int>& memory_files);
  /// Returns the server's side of a new connection, or null if memory is exhausted. A client that
  /// requests a name (SNI) gets the first certificate for this name, or the default certificate.
  TlsSessionPtr new_session() const;
  /// Returns the settings with a certificate for NAME, or null.
  SSL_CTX* context_for(const char* name) const;

 private:
  std::vector<TlsContextPtr> contexts_;
};

}  // namespace quarry::gateway
