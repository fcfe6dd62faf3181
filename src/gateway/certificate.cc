#include "quarry/gateway/certificate.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "quarry/base/memory_file.h"
#include "tls_context.h"

namespace quarry::gateway {
namespace {

constexpr off_t kMaxCertificateFile = off_t{1} << 20;

/// A certificate file or key file, opened for OpenSSL.
struct PemFile {
  base::Fd fd;
  BioPtr bio;
  mode_t mode = 0;
};

Result<PemFile> open_pem(const std::string& path) {
  // Without O_NONBLOCK, opening a FIFO would wait for a writer.
  PemFile file{.fd = base::Fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)), .bio = {}};
  struct stat status {};
  if (!file.fd || ::fstat(file.fd.get(), &status) != 0) {
    return fail_errno("cannot read {}", path);
  }
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorCode::kIo, "{} is not a regular file", path);
  }
  if (status.st_size > kMaxCertificateFile) {
    return fail(ErrorCode::kIo, "{} is larger than {} bytes", path, kMaxCertificateFile);
  }
  file.bio.reset(BIO_new_fd(file.fd.get(), BIO_NOCLOSE));
  file.mode = status.st_mode;
  return file;
}

std::string name_of(const X509* certificate) {
  char name[256];
  X509_NAME_oneline(X509_get_subject_name(certificate), name, sizeof name);
  return name;
}

std::string time_of(const ASN1_TIME* time) {
  const BioPtr text(BIO_new(BIO_s_mem()));
  ASN1_TIME_print(text.get(), time);
  char* start = nullptr;
  const long size = BIO_ctrl(text.get(), BIO_CTRL_INFO, 0, &start);
  return {start, static_cast<std::size_t>(size)};
}

Result<std::vector<X509Ptr>> read_chain(const std::string& path) {
  QUARRY_TRY_ASSIGN(const PemFile file, open_pem(path));
  auto read = certificates_in(file.bio.get());
  if (!read) {
    return fail(ErrorCode::kInvalid, "{}: {}", path, read.error().message);
  }
  std::vector<X509Ptr> chain = std::move(*read);
  if (chain.empty()) {
    return fail(ErrorCode::kInvalid, "{}: the file does not contain a certificate in PEM format",
                path);
  }
  for (std::size_t i = 1; i < chain.size(); ++i) {
    if (X509_check_issued(chain[i].get(), chain[i - 1].get()) == X509_V_OK) continue;
    return fail(ErrorCode::kInvalid,
                "{}: the certificate {} was not issued by {}, which follows it: write the "
                "server's certificate first, and its issuers after it in their order",
                path, name_of(chain[i - 1].get()), name_of(chain[i].get()));
  }
  return chain;
}

/// Reads the private key PATH. Adds a warning to WARNINGS if all users can read PATH.
Result<KeyPtr> read_key(const std::string& path, std::vector<std::string>& warnings) {
  QUARRY_TRY_ASSIGN(const PemFile file, open_pem(path));
  bool needs_password = false;
  KeyPtr key(PEM_read_bio_PrivateKey(
      file.bio.get(), nullptr,
      [](char*, int, int, void* asked) {
        *static_cast<bool*>(asked) = true;
        return -1;
      },
      &needs_password));
  ERR_clear_error();
  if (needs_password) {
    return fail(ErrorCode::kInvalid,
                "{}: the key is encrypted with a password: remove the password, "
                "for example with openssl pkey -in {} -out FILE",
                path, path);
  }
  if (!key) {
    return fail(ErrorCode::kInvalid, "{}: the file does not contain a private key in PEM format",
                path);
  }
  if ((file.mode & S_IROTH) != 0) {
    warnings.push_back(
        fmt::format("{}: all users may read this private key: chmod o-r {}", path, path));
  }
  return key;
}

void warn_of_time(const X509* certificate, const std::string& path,
                  std::vector<std::string>& warnings) {
  const ASN1_TIME* const start = X509_get0_notBefore(certificate);
  const ASN1_TIME* const end = X509_get0_notAfter(certificate);
  if (X509_cmp_current_time(start) > 0) {
    warnings.push_back(
        fmt::format("{}: clients refuse the certificate {}, because it is not valid "
                    "before {}",
                    path, name_of(certificate), time_of(start)));
  }
  if (X509_cmp_current_time(end) < 0) {
    warnings.push_back(fmt::format(
        "{}: clients refuse the certificate {}, because it expired on {}: renew it, and reload",
        path, name_of(certificate), time_of(end)));
  }
}

Result<base::Fd> in_memory(const std::vector<X509Ptr>& chain, EVP_PKEY* key) {
  const BioPtr text(BIO_new(BIO_s_mem()));
  bool done =
      text && PEM_write_bio_PrivateKey(text.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1;
  for (const X509Ptr& each : chain) {
    done = done && PEM_write_bio_X509(text.get(), each.get()) == 1;
  }
  if (!done) return fail(ErrorCode::kInvalid, take_tls_error());
  char* start = nullptr;
  const auto size = static_cast<std::size_t>(BIO_ctrl(text.get(), BIO_CTRL_INFO, 0, &start));
  auto file = base::memory_file({start, size});
  OPENSSL_cleanse(start, size);
  return file;
}

}  // namespace

Result<Certificate> read_certificate(const CertificateFiles& files) {
  Certificate certificate;
  const auto of = [](const std::string& name, Error error) {
    error.message = fmt::format("{}: {}", name, error.message);
    return std::unexpected(std::move(error));
  };
  const auto chain = read_chain(files.certificate);
  if (!chain) return of(files.name_of_certificate, chain.error());
  const auto key = read_key(files.key, certificate.warnings);
  if (!key) return of(files.name_of_key, key.error());
  if (X509_check_private_key(chain->front().get(), key->get()) != 1) {
    ERR_clear_error();
    return fail(ErrorCode::kInvalid, "{}: {} is not the key of the certificate in {}",
                files.name_of_key, files.key, files.certificate);
  }
  if (const auto accepted = make_context(*chain, key->get()); !accepted) {
    return fail(ErrorCode::kInvalid, "{}: cannot use {}: {}", files.name_of_certificate,
                files.certificate, accepted.error().message);
  }
  for (const X509Ptr& each : *chain) {
    warn_of_time(each.get(), files.certificate, certificate.warnings);
  }
  QUARRY_TRY_ASSIGN(certificate.memory, in_memory(*chain, key->get()));
  return certificate;
}

}  // namespace quarry::gateway
