#include "front_certificates.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "configuration.h"

namespace quarry::app {
namespace {

/// Returns DIRECTIVE with the file and line of its value NUMBER, for error messages.
std::string name_of(const master::HttpConfig& http, const std::string& directive,
                    std::size_t number) {
  const std::string name = "[http] " + directive;
  const auto places = http.places.find(directive);
  if (places == http.places.end() || number >= places->second.size()) return name;
  return fmt::format("{}: {}", places->second[number], name);
}

}  // namespace

std::string certificates_error(const master::HttpConfig& http) {
  const gateway::GatewayOptions options = gateway_options_in(http);
  const std::size_t certificates = options.certificate_files.size();
  const std::size_t keys = options.key_files.size();
  if (certificates != keys) {
    return fmt::format(
        "[http] has {} ssl_certificate and {} ssl_certificate_key: write one key for each "
        "certificate, in the same order",
        certificates, keys);
  }
  const bool has_tls = std::ranges::any_of(http.listens, &master::HttpListen::is_tls);
  if (has_tls && certificates == 0) {
    return "[http] listens with ssl, but does not have ssl_certificate and ssl_certificate_key";
  }
  if (http.trusted_proxies.empty() &&
      std::ranges::any_of(http.listens, &master::HttpListen::has_proxy_protocol)) {
    return "[http] has a listen directive with proxy_protocol, but does not have trusted_proxies";
  }
  if (!has_tls && std::ranges::any_of(http.listens, &master::HttpListen::redirects)) {
    return "[http] has a listen directive with redirect, but none with ssl";
  }
  if (!has_tls && certificates > 0) {
    return "[http] has an ssl_certificate, but does not have a listen directive with ssl";
  }
  return {};
}

FrontCertificates read_certificates(const master::Config& config) {
  FrontCertificates read;
  if (!config.http) return read;
  const gateway::GatewayOptions options = gateway_options_in(*config.http);
  for (std::size_t i = 0; i < options.certificate_files.size(); ++i) {
    auto certificate = gateway::read_certificate(
        {.certificate = options.certificate_files[i],
         .key = options.key_files[i],
         .name_of_certificate = name_of(*config.http, "ssl_certificate", i),
         .name_of_key = name_of(*config.http, "ssl_certificate_key", i)});
    if (certificate) {
      read.certificates.push_back(std::move(*certificate));
    } else {
      read.errors.push_back(certificate.error().message);
    }
  }
  return read;
}

}  // namespace quarry::app
