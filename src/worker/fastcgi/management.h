// FastCGI management records (specification 1.0, section 4): queries from a web server to the
// application outside any request.
//
//   GET_VALUES (type 9, request id 0) asks for variables by name, each with an empty value;
//   GET_VALUES_RESULT (type 10) answers with the known ones among them.
#pragma once

#include <string>
#include <string_view>

namespace quarry::worker {

/// The answer to NAMES, the content of a GET_VALUES record: one connection at a time, one request
/// at a time, no multiplexing. Unknown or malformed names are left out.
std::string get_values_result(std::string_view names);

}  // namespace quarry::worker
