// Hands any number of messages over to the courier.
#pragma once

#include <span>

#include "quarry/base/result.h"
#include "quarry/spool/hand_over.h"

namespace quarry::backoffice {

/// Hands over MESSAGES in as many requests as needed. After an error some of them may have been
/// handed over. Errors: those of HandOver::hand_over().
base::Result<void> hand_over_all(const spool::HandOver& courier,
                                 std::span<const spool::NewMessage> messages);

}  // namespace quarry::backoffice
