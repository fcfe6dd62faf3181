// The directives of a pool for its workers: repository.…, sync.…, backoffice.…, changes.…,
// pages.…, and timeouts.
//
// Each directive is defined in one place: its type, and the field that it sets. The field has the
// default value.
#pragma once

#include <span>

#include "quarry/master/directive_table.h"
#include "quarry/worker/worker_options.h"

namespace quarry::app {

std::span<const master::Directive<worker::WorkerOptions>> worker_directives();

}  // namespace quarry::app
