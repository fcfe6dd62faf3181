// The directives of [http] for the HTTP front: its limits and timeouts.
//
// Each directive is defined in one place: its type, and the field that it sets. The field has the
// default value.
#pragma once

#include <span>

#include "quarry/gateway/gateway_options.h"
#include "quarry/master/directive_table.h"

namespace quarry::app {

std::span<const master::Directive<gateway::GatewayOptions>> gateway_directives();

}  // namespace quarry::app
