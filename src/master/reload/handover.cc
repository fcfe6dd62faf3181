#include "quarry/master/handover.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "quarry/base/number.h"

namespace quarry::master {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;
constexpr std::size_t kMaxBytes = std::size_t{16} << 20;

Result<void> keep_open(int fd) {
  if (::fcntl(fd, F_SETFD, 0) == 0) return {};
  return fail_errno("cannot keep a descriptor open across the reload");
}

Result<int> let_through(const base::Fd& fd) {
  if (!fd) return -1;
  QUARRY_TRY(keep_open(fd.get()));
  return fd.get();
}

/// Returns the descriptor NUMBER and makes it close-on-exec again. For -1, returns an empty object.
Result<base::Fd> take_descriptor(int number) {
  if (number < 0) return base::Fd();
  if (number <= STDERR_FILENO || ::fcntl(number, F_SETFD, FD_CLOEXEC) != 0) {
    return fail(ErrorCode::kInvalid, "descriptor {} was not inherited", number);
  }
  return base::Fd(number);
}

Result<std::string> read_all(const base::Fd& fd) {
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return fail_errno("cannot examine the handover");
  if (static_cast<std::size_t>(status.st_size) > kMaxBytes)
    return fail(ErrorCode::kLimit, "the handover is too long");
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  if (::pread(fd.get(), text.data(), text.size(), 0) != status.st_size) {
    return fail_errno("cannot read the handover");
  }
  return text;
}

using Words = std::array<std::uint64_t, sizeof(scoreboard::PoolState) / sizeof(std::uint64_t)>;

// The text is written as an array of bytes, because a child's output might not be UTF-8.
Result<json> write_stream(const CaughtStream& stream) {
  QUARRY_TRY_ASSIGN(const int fd, let_through(stream.fd));
  return json{{"fd", fd},
              {"rest", std::vector<std::uint8_t>(stream.rest.begin(), stream.rest.end())}};
}

Result<CaughtStream> read_stream(const json& from) {
  QUARRY_TRY_ASSIGN(base::Fd fd, take_descriptor(from.value("fd", -1)));
  const auto rest = from.value("rest", std::vector<std::uint8_t>());
  return CaughtStream{std::move(fd), std::string(rest.begin(), rest.end())};
}

Result<json> write_previous_child(const PreviousChild& child) {
  QUARRY_TRY_ASSIGN(const int control, let_through(child.control));
  json to = {{"pid", child.pid},
             {"service", child.service},
             {"generation", child.generation},
             {"asked_at", child.asked_at},
             {"quit_signal", child.quit_signal},
             {"ends_last", child.ends_last},
             {"ends_by_itself", child.ends_by_itself},
             {"slow_request", child.slow_request},
             {"control", control}};
  if (child.slot) to["slot"] = *child.slot;
  if (!child.output) return to;
  QUARRY_TRY_ASSIGN(json out, write_stream(child.output->out));
  QUARRY_TRY_ASSIGN(json err, write_stream(child.output->err));
  to["output"] = {{"out", std::move(out)},
                  {"err", std::move(err)},
                  {"is_decorated", child.output->is_decorated}};
  return to;
}

Result<PreviousChild> read_previous_child(const json& from) {
  QUARRY_TRY_ASSIGN(base::Fd control, take_descriptor(from.value("control", -1)));
  PreviousChild child{.pid = from.value("pid", -1),
                      .service = from.value("service", ""),
                      .generation = from.value("generation", std::uint64_t{0}),
                      .asked_at = from.value("asked_at", std::int64_t{0}),
                      .quit_signal = from.value("quit_signal", SIGQUIT),
                      .ends_last = from.value("ends_last", false),
                      .ends_by_itself = from.value("ends_by_itself", false),
                      .control = std::move(control),
                      .slot = {},
                      .output = {},
                      .slow_request = from.value("slow_request", std::int64_t{0})};
  if (from.contains("slot")) child.slot = from.at("slot").get<std::size_t>();
  if (!from.contains("output")) return child;
  const json& output = from.at("output");
  QUARRY_TRY_ASSIGN(CaughtStream out, read_stream(output.at("out")));
  QUARRY_TRY_ASSIGN(CaughtStream err, read_stream(output.at("err")));
  child.output = {std::move(out), std::move(err), output.value("is_decorated", true)};
  return child;
}

Result<json> write_board(const InheritedBoard& board) {
  QUARRY_TRY_ASSIGN(const int fd, let_through(board.fd));
  const scoreboard::BoardLayout& layout = board.layout;
  return json{{"service", board.service},
              {"fd", fd},
              {"layout", {layout.version, layout.slot_size, layout.pool_size, layout.slots}},
              {"writer", {board.writer.user, board.writer.group}},
              {"state", std::bit_cast<Words>(board.state)}};
}

Result<InheritedBoard> read_board(const json& from) {
  QUARRY_TRY_ASSIGN(base::Fd fd, take_descriptor(from.value("fd", -1)));
  const json& layout = from.at("layout");
  const json& writer = from.at("writer");
  InheritedBoard board{.service = from.value("service", ""),
                       .fd = std::move(fd),
                       .layout = {layout.at(0), layout.at(1), layout.at(2), layout.at(3)},
                       .writer = {writer.at(0), writer.at(1)},
                       .state = {}};
  // If the size of the state differs, leave the state empty: the layout of the board differs too,
  // so the board will be rejected.
  const json& state = from.at("state");
  if (state.size() == Words().size()) {
    board.state = std::bit_cast<scoreboard::PoolState>(state.get<Words>());
  }
  return board;
}

Result<json> write_memory(const InheritedMemory& memory) {
  QUARRY_TRY(keep_open(memory.fd.get()));
  return json{{"service", memory.name},
              {"fd", memory.fd.get()},
              {"layout", memory.layout},
              {"writer", {memory.writer.user, memory.writer.group}}};
}

Result<InheritedMemory> read_memory(const json& from) {
  QUARRY_TRY_ASSIGN(base::Fd fd, take_descriptor(from.value("fd", -1)));
  const json& writer = from.at("writer");
  return InheritedMemory{.name = from.value("service", ""),
                         .fd = std::move(fd),
                         .layout = from.value("layout", std::uint64_t{0}),
                         .writer = {writer.at(0), writer.at(1)}};
}

Result<Handover> parse(const std::string& text) {
  const json document = json::parse(text, nullptr, false);
  if (!document.is_object() || document.value("version", 0) != kVersion) {
    return fail(ErrorCode::kInvalid, "unsupported version of the handover");
  }
  Handover handover;
  handover.generation = document.value("generation", std::uint64_t{1});
  handover.counters = document.value("counters", ServiceCounters());
  handover.notes = document.value("notes", std::map<std::string, std::string>());
  for (const json& one : document.value("sockets", json::array())) {
    QUARRY_TRY_ASSIGN(base::Fd fd, take_descriptor(one.value("fd", -1)));
    InheritedSocket socket{one.value("address", ""),
                           std::make_shared<base::Fd>(std::move(fd)),
                           one.value("is_ours", true),
                           {}};
    if (one.contains("file")) socket.file = {one.at("file").at(0), one.at("file").at(1)};
    handover.sockets.push_back(std::move(socket));
  }
  // Older masters write `previous_children` under the name `elders`.
  const json elders = document.value("elders", json::array());
  for (const json& one : document.value("previous_children", elders)) {
    QUARRY_TRY_ASSIGN(PreviousChild child, read_previous_child(one));
    handover.previous_children.push_back(std::move(child));
  }
  for (const json& one : document.value("boards", json::array())) {
    QUARRY_TRY_ASSIGN(InheritedBoard board, read_board(one));
    handover.boards.push_back(std::move(board));
  }
  for (const json& one : document.value("memories", json::array())) {
    QUARRY_TRY_ASSIGN(InheritedMemory memory, read_memory(one));
    handover.memories.push_back(std::move(memory));
  }
  return handover;
}

}  // namespace

BoardWriter writer_for(const std::optional<Credentials>& run_as) {
  if (run_as) return {run_as->uid, run_as->gid};
  return {::geteuid(), ::getegid()};
}

Result<base::Fd> write_handover(const Handover& handover) {
  json document = {{"version", kVersion},           {"generation", handover.generation},
                   {"counters", handover.counters}, {"notes", handover.notes},
                   {"sockets", json::array()},      {"previous_children", json::array()},
                   {"boards", json::array()},       {"memories", json::array()}};
  for (const InheritedSocket& socket : handover.sockets) {
    QUARRY_TRY_ASSIGN(const int fd, let_through(*socket.fd));
    json written = {{"address", socket.address}, {"fd", fd}, {"is_ours", socket.is_ours}};
    if (socket.file) written["file"] = {socket.file->device, socket.file->inode};
    document["sockets"].push_back(std::move(written));
  }
  for (const PreviousChild& child : handover.previous_children) {
    QUARRY_TRY_ASSIGN(json written, write_previous_child(child));
    document["previous_children"].push_back(std::move(written));
  }
  for (const InheritedBoard& board : handover.boards) {
    QUARRY_TRY_ASSIGN(json written, write_board(board));
    document["boards"].push_back(std::move(written));
  }
  for (const InheritedMemory& memory : handover.memories) {
    QUARRY_TRY_ASSIGN(json written, write_memory(memory));
    document["memories"].push_back(std::move(written));
  }
  const std::string text = document.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > kMaxBytes) return fail(ErrorCode::kLimit, "the handover is too long");
  base::Fd fd(::memfd_create("quarry-handover", 0));
  if (!fd) return fail_errno("cannot create a memory file for the handover");
  if (::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return fail_errno("cannot write the handover");
  }
  return fd;
}

void take_back(Handover& handover) {
  const auto back = [](base::Fd& fd) {
    if (fd) ::fcntl(fd.release(), F_SETFD, FD_CLOEXEC);
  };
  for (InheritedSocket& socket : handover.sockets) back(*socket.fd);
  for (InheritedBoard& board : handover.boards) back(board.fd);
  for (InheritedMemory& memory : handover.memories) back(memory.fd);
  for (PreviousChild& child : handover.previous_children) {
    back(child.control);
    if (!child.output) continue;
    back(child.output->out.fd);
    back(child.output->err.fd);
  }
}

Result<std::optional<Handover>> take_handover() {
  const char* variable = std::getenv(kHandoverVariable);
  if (variable == nullptr) return std::nullopt;
  const std::string number = variable;
  ::unsetenv(kHandoverVariable);
  const auto value = base::parse_number<int>(number);
  if (!value) {
    return fail(ErrorCode::kInvalid, "{} is not a number", kHandoverVariable);
  }
  QUARRY_TRY_ASSIGN(const base::Fd fd, take_descriptor(*value));
  QUARRY_TRY_ASSIGN(const std::string text, read_all(fd));
  try {
    QUARRY_TRY_ASSIGN(Handover handover, parse(text));
    return handover;
  } catch (const json::exception& mistake) {
    return fail(ErrorCode::kInvalid, "the handover: {}", mistake.what());
  }
}

}  // namespace quarry::master
