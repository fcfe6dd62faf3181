#include "bounded_output.h"

#include <fmt/core.h>

#include <algorithm>

#include "quarry/base/escape.h"

namespace quarry::changes {
namespace {

void append_harmless(std::string& out, std::string_view text) {
  while (!text.empty()) {
    if (text.front() == '\n' || text.front() == '\t') {
      out += text.front();
      text.remove_prefix(1);
    } else if (text.starts_with("\r\n")) {
      text.remove_prefix(1);
    } else {
      base::append_message_character(out, text);
    }
  }
}

}  // namespace

void BoundedOutput::add(std::string_view bytes) {
  const std::size_t size = std::min(bytes.size(), half_ - beginning_.size());
  beginning_ += bytes.substr(0, size);
  end_ += bytes.substr(size);
  if (end_.size() <= 3 * half_) return;
  left_out_ += end_.size() - half_;
  end_.erase(0, end_.size() - half_);
}

std::string BoundedOutput::text() const {
  std::string out;
  append_harmless(out, beginning_);
  const std::size_t beyond = end_.size() > half_ ? end_.size() - half_ : 0;
  if (left_out_ + beyond > 0) {
    if (!out.ends_with('\n')) out += '\n';
    out += fmt::format("[{} bytes omitted]\n", left_out_ + beyond);
  }
  append_harmless(out, std::string_view(end_).substr(beyond));
  return out;
}

}  // namespace quarry::changes
