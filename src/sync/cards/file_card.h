// What a file or cfile card brings, as the repository takes it:
//
//   file  NAME [SOURCE] SIZE            content, or a delta on SOURCE
//   cfile NAME [SOURCE] SIZE SIZE'      the same, in blob format: SIZE is the artifact's, expanded
#pragma once

#include "card_reader.h"
#include "quarry/base/result.h"
#include "quarry/repository/receipt.h"

namespace quarry::sync {

/// Of the card that CARD stands on, whose payload it refers to. Error: a name or a size is none.
base::Result<repository::Arrival> arrival_of(const CardReader& card, bool is_private);

}  // namespace quarry::sync
