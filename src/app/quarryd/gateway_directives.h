// The words of [http] that the HTTP front gives a meaning to: its bounds and time-outs.
//
// Each word is written once: with its kind of value and where it goes; its default is there.
#pragma once

#include <span>

#include "quarry/gateway/gateway_options.h"
#include "quarry/master/directive_table.h"

namespace quarry::app {

std::span<const master::Directive<gateway::GatewayOptions>> gateway_directives();

}  // namespace quarry::app
