#include "request.h"

namespace quarry::worker {

std::string_view reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    default:
      return "Unknown";
  }
}

Reply text_reply(int status, std::string_view text) {
  Reply reply;
  reply.status = status;
  reply.body = text;
  reply.body += '\n';
  if (status >= 400) reply.error = text;
  return reply;
}

}  // namespace quarry::worker
