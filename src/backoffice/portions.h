// Hands any number of messages over to the courier.
#pragma once

#include <span>

#include "quarry/base/result.h"
#include "quarry/spool/hand_over.h"

namespace quarry::backoffice {

/// Hands MESSAGES over, in as many requests as they need. Where it fails some of them may have been
/// handed over. Errors: those of HandOver::hand_over().
base::Result<void> hand_over_all(const spool::HandOver& courier,
                                 std::span<const spool::NewMessage> messages);

}  // namespace quarry::backoffice
