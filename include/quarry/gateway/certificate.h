// A TLS certificate with its issuers and its private key.
//
// The master reads and checks the files, because often only root can read the key. The gateway gets
// the contents in a memory file (memfd). Other children close this file.
#pragma once

#include <string>
#include <vector>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"

namespace quarry::gateway {

struct CertificateFiles {
  /// The certificate of the server in PEM format, followed by the certificates of its issuers.
  std::string certificate;
  /// The private key of the first certificate in PEM format, without a password.
  std::string key;
  /// Names of the certificate file and of the key file in error messages.
  std::string name_of_certificate = "ssl_certificate";
  std::string name_of_key = "ssl_certificate_key";
};

struct Certificate {
  /// A memory file with the certificate, its issuers and the key in PEM format.
  base::Fd memory;
  /// Faults that do not prevent the use of the certificate.
  std::vector<std::string> warnings;
};

/// Reads FILES. Errors: kIo (a file cannot be read), kInvalid (a file is malformed, the key does
/// not fit the certificate, or a certificate was not issued by the next one).
Result<Certificate> read_certificate(const CertificateFiles& files);

}  // namespace quarry::gateway
