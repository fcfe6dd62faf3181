// Precompiled for the modules, and included by no source: what nearly every one includes. Each
// includes what it needs all the same; a build with -Db_pch=false shows whether it does.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
