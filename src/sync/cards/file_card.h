// Converts a file or cfile card for the repository:
//
//   file  NAME [SOURCE] SIZE            content, or a delta on SOURCE
//   cfile NAME [SOURCE] SIZE SIZE'      the same in blob format; SIZE is the expanded size
#pragma once

#include "card_reader.h"
#include "quarry/base/result.h"
#include "quarry/repository/receipt.h"

namespace quarry::sync {

/// From the current card of CARD, whose payload it refers to. Error: invalid name or size.
base::Result<repository::Arrival> arrival_of(const CardReader& card, bool is_private);

}  // namespace quarry::sync
