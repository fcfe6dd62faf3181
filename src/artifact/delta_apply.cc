#include <fmt/core.h>

#include <cstring>

#include "delta_format.h"
#include "quarry/artifact/delta.h"

namespace quarry::artifact {
namespace {

std::unexpected<Error> malformed(std::string_view what) {
  return fail(ErrorCode::kInvalid, "malformed delta: {}", what);
}

bool take_character(std::string_view& rest, char c) {
  if (!rest.starts_with(c)) return false;
  rest.remove_prefix(1);
  return true;
}

Result<std::size_t> take_output_size(std::string_view& rest) {
  const auto size = take_delta_number(rest);
  if (!size || !take_character(rest, '\n')) return malformed("no target size");
  return *size;
}

/// Executes a delta. Writes to memory of exactly the declared size.
class Application {
 public:
  Application(std::string_view source, std::string_view commands, char* out, std::size_t size)
      : source_(source), rest_(commands), begin_(out), out_(out), end_(out + size) {}

  Result<void> run() {
    while (true) {
      const auto number = take_delta_number(rest_);
      if (!number) return malformed("missing number");
      if (take_character(rest_, '@')) {
        QUARRY_TRY(copy(*number));
      } else if (take_character(rest_, ':')) {
        QUARRY_TRY(insert(*number));
      } else if (take_character(rest_, ';')) {
        return finish(*number);
      } else {
        return malformed("unknown command");
      }
    }
  }

 private:
  Result<void> copy(std::size_t count) {
    const auto offset = take_delta_number(rest_);
    if (!offset || !take_character(rest_, ',')) return malformed("copy without an offset");
    if (*offset > source_.size() || count > source_.size() - *offset) {
      return malformed("copy beyond the end of the source");
    }
    return emit(source_.substr(*offset, count));
  }

  Result<void> insert(std::size_t count) {
    if (count > rest_.size()) return malformed("insertion beyond the end of the delta");
    QUARRY_TRY(emit(rest_.substr(0, count)));
    rest_.remove_prefix(count);
    return {};
  }

  Result<void> emit(std::string_view bytes) {
    if (bytes.size() > static_cast<std::size_t>(end_ - out_)) {
      return malformed("target longer than declared");
    }
    if (bytes.empty()) return {};  // memcpy does not accept a null pointer, even for size 0
    std::memcpy(out_, bytes.data(), bytes.size());
    out_ += bytes.size();
    return {};
  }

  Result<void> finish(std::uint32_t checksum) const {
    if (!rest_.empty()) return malformed("bytes after the checksum");
    if (out_ != end_) return malformed("target shorter than declared");
    const std::string_view target(begin_, static_cast<std::size_t>(end_ - begin_));
    if (delta_checksum(target) != checksum) return malformed("wrong checksum");
    return {};
  }

  std::string_view source_;
  std::string_view rest_;
  char* begin_;
  char* out_;
  char* end_;
};

}  // namespace

Result<std::size_t> delta_output_size(std::string_view delta) {
  return take_output_size(delta);
}

Result<std::string> delta_apply(std::string_view source, std::string_view delta,
                                std::size_t max_size) {
  QUARRY_TRY_ASSIGN(const std::size_t declared, take_output_size(delta));
  if (declared > max_size) {
    return fail(ErrorCode::kLimit, "delta declares a target of {} bytes, more than the limit of {}",
                declared, max_size);
  }
  Result<void> done;
  std::string target;
  target.resize_and_overwrite(declared, [&](char* out, std::size_t) {
    // Use `declared` instead of the argument, because libstdc++ 12 passes the capacity and not the
    // size.
    done = Application(source, delta, out, declared).run();
    return done ? declared : 0;
  });
  QUARRY_TRY(std::move(done));
  return target;
}

}  // namespace quarry::artifact
