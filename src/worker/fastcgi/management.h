// Management records of FastCGI (specification 1.0, section 4): what a web server may ask of the
// application itself, outside of any request.
//
//   GET_VALUES (type 9, request id 0) asks for variables by name, each with an empty value;
//   GET_VALUES_RESULT (type 10) has those among them that are known.
#pragma once

#include <string>
#include <string_view>

namespace quarry::worker {

/// The answer to NAMES, the content of a GET_VALUES record: one connection at a time, one request
/// at a time, no multiplexing. A name that is unknown, or written wrongly, is left out.
std::string get_values_result(std::string_view names);

}  // namespace quarry::worker
