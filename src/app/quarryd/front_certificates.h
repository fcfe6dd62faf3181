// The TLS certificates of the HTTP front.
#pragma once

#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/gateway/certificate.h"
#include "quarry/gateway/gateway_options.h"
#include "quarry/master/config.h"

namespace quarry::app {

/// Returns why the certificates and the addresses of the [http] section do not fit together, or "".
std::string certificates_error(const master::HttpConfig& http);

/// Reads the certificates of CONFIG's [http] section, if it has any. Errors: kIo, kInvalid.
base::Result<std::vector<gateway::Certificate>> read_certificates(const master::Config& config);

}  // namespace quarry::app
