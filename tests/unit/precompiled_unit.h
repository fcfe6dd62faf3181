// Precompiled for the unit tests.

#include <doctest/doctest.h>

#include "../../src/base/precompiled.h"
