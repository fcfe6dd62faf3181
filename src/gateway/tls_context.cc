#include "tls_context.h"

#include <fmt/core.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <cstring>
#include <string_view>
#include <utility>

#include "quarry/base/transfer.h"

namespace quarry::gateway {
namespace {

/// Returns the content of the memory file DESCRIPTOR. Does not change the position of the file,
/// because all generations of the gateway share it.
std::string contents_of(int descriptor) {
  std::string text;
  char bytes[4096];
  for (;;) {
    const ssize_t size = base::without_interruption(
        [&] { return ::pread(descriptor, bytes, sizeof bytes, static_cast<off_t>(text.size())); });
    if (size <= 0) break;
    text.append(bytes, static_cast<std::size_t>(size));
  }
  OPENSSL_cleanse(bytes, sizeof bytes);
  return text;
}

Result<TlsContextPtr> context_of(int descriptor) {
  std::string pem = contents_of(descriptor);
  const BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  const BioPtr again(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  QUARRY_TRY_ASSIGN(const auto chain, certificates_in(bio.get()));
  const KeyPtr key(PEM_read_bio_PrivateKey(again.get(), nullptr, nullptr, nullptr));
  auto context = make_context(chain, key.get());
  OPENSSL_cleanse(pem.data(), pem.size());
  return context;
}

/// Returns whether the server's certificate in CONTEXT is for NAME. Checks wildcards only if WILDCARDS
/// is true.
bool is_for(const SSL_CTX* context, const char* name, bool wildcards) {
  const unsigned flags =
      X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | (wildcards ? 0 : X509_CHECK_FLAG_NO_WILDCARDS);
  return X509_check_host(SSL_CTX_get0_certificate(context), name, std::strlen(name), flags,
                         nullptr) == 1;
}

/// OpenSSL's callback for the name that a client asks for.
int choose_certificate(SSL* session, int*, void* contexts) {
  const char* const name = SSL_get_servername(session, TLSEXT_NAMETYPE_host_name);
  SSL_CTX* const found =
      name == nullptr ? nullptr : static_cast<TlsContexts*>(contexts)->context_for(name);
  if (found == nullptr) return SSL_TLSEXT_ERR_NOACK;
  SSL_set_SSL_CTX(session, found);
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace

std::string take_tls_error() {
  const unsigned long error = ERR_get_error();
  ERR_clear_error();
  const char* const reason = ERR_reason_error_string(error);
  return reason == nullptr ? "unknown error" : reason;
}

Result<std::vector<X509Ptr>> certificates_in(BIO* pem) {
  std::vector<X509Ptr> found;
  while (X509Ptr next{PEM_read_bio_X509(pem, nullptr, nullptr, nullptr)}) {
    found.push_back(std::move(next));
  }
  // PEM_R_NO_START_LINE means the end of the file.
  const bool is_at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string reason = take_tls_error();
  if (is_at_end) return found;
  return fail(ErrorCode::kInvalid, "certificate {} is damaged: {}", found.size() + 1, reason);
}

Result<TlsContextPtr> make_context(const std::vector<X509Ptr>& chain, EVP_PKEY* key) {
  constexpr std::string_view kSessions = "quarry";
  TlsContextPtr context(SSL_CTX_new(TLS_server_method()));
  bool done = context && !chain.empty() && key != nullptr &&
              SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) == 1 &&
              SSL_CTX_use_certificate(context.get(), chain.front().get()) == 1 &&
              SSL_CTX_use_PrivateKey(context.get(), key) == 1 &&
              SSL_CTX_set_session_id_context(
                  context.get(), reinterpret_cast<const unsigned char*>(kSessions.data()),
                  kSessions.size()) == 1;
  for (std::size_t i = 1; done && i < chain.size(); ++i) {
    done = SSL_CTX_add1_chain_cert(context.get(), chain[i].get()) == 1;
  }
  if (!done) return fail(ErrorCode::kInvalid, take_tls_error());
  // Clients resume sessions with tickets, so the server does not have to store sessions. Every
  // message has a known length, so a connection may end without close_notify.
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  return context;
}

Result<void> TlsContexts::load(const std::vector<int>& memory_files) {
  for (const int descriptor : memory_files) {
    QUARRY_TRY_ASSIGN(auto context, context_of(descriptor));
    contexts_.push_back(std::move(context));
  }
  if (contexts_.empty()) return {};
  SSL_CTX* const first = contexts_.front().get();
  // Do not use OpenSSL's macro, because it contains a cast that our compiler warnings do not allow.
  SSL_CTX_callback_ctrl(first, SSL_CTRL_SET_TLSEXT_SERVERNAME_CB,
                        reinterpret_cast<void (*)()>(choose_certificate));
  SSL_CTX_set_tlsext_servername_arg(first, this);
  return {};
}

TlsSessionPtr TlsContexts::new_session() const {
  return TlsSessionPtr(SSL_new(contexts_.front().get()));
}

SSL_CTX* TlsContexts::context_for(const char* name) const {
  for (const bool wildcards : {false, true}) {
    for (const TlsContextPtr& context : contexts_) {
      if (is_for(context.get(), name, wildcards)) return context.get();
    }
  }
  return nullptr;
}

}  // namespace quarry::gateway
