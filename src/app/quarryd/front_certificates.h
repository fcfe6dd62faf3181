// The TLS certificates of the HTTP front.
#pragma once

#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/gateway/certificate.h"
#include "quarry/gateway/gateway_options.h"
#include "quarry/master/config.h"

namespace quarry::app {

/// Returns an error if the certificates in the [http] section do not match its addresses, or "".
std::string certificates_error(const master::HttpConfig& http);

struct FrontCertificates {
  std::vector<gateway::Certificate> certificates;
  std::vector<std::string> errors;  // of the other certificates
};

/// Reads the certificates of CONFIG's [http] section, if it has any.
FrontCertificates read_certificates(const master::Config& config);

}  // namespace quarry::app
