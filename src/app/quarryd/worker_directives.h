// The words of a pool that its workers give a meaning to: repository.…, sync.…, backoffice.…,
// changes.…, time-outs.
//
// Each word is written once: with its kind of value and where it goes; its default is there.
#pragma once

#include <span>

#include "quarry/master/directive_table.h"
#include "quarry/worker/worker_options.h"

namespace quarry::app {

std::span<const master::Directive<worker::WorkerOptions>> worker_directives();

}  // namespace quarry::app
