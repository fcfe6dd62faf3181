// Input: a byte that selects a format, and data in this format. The formats are a hand-over
// request, a hand-over reply, an envelope, and the records of a subscription's journal, each
// preceded by its length. If a request, reply or envelope is accepted and written again, the result
// must be the same bytes. A subscription must be able to continue from any state.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "require.h"
#include "stream/envelope.h"
#include "stream/hand_over_frames.h"
#include "stream/subscription_state.h"

using namespace quarry::spool;

namespace {

void look_at_request(std::string_view body) {
  const auto messages = decode_request(body);
  if (!messages) return;
  const auto frame = request_frame(*messages);
  REQUIRE(frame && frame->substr(kFrameHeader) == body);
  REQUIRE(body_length(*frame) == body.size());
}

void look_at_answer(std::string_view body) {
  const auto answer = decode_answer(body);
  if (answer) REQUIRE(answer_frame(answer).substr(kFrameHeader) == body);
}

void look_at_envelope(std::string_view bytes) {
  const auto envelope = open_envelope(bytes);
  if (envelope) REQUIRE(seal(*envelope, 6).content == bytes);
}

void look_at(const SubscriptionState& state) {
  REQUIRE(state.postponed() <= state.open().size());
  REQUIRE(state.due(0, 10, false).size() <= state.postponed());
  REQUIRE(state.floor() <= state.read().segment || !state.open().empty());
}

void look_at_journal(std::string_view bytes) {
  SubscriptionState state;
  while (!bytes.empty()) {
    const std::size_t length = static_cast<unsigned char>(bytes.front());
    const std::string_view record = bytes.substr(1, length);
    bytes.remove_prefix(1 + record.size());
    if (const auto other = SubscriptionState::decode(record)) {
      REQUIRE(SubscriptionState::decode(other->encode()));
      state = *other;
    } else if (const auto event = decode_event(record)) {
      state.apply(*event);
    }
    look_at(state);
  }
  state.return_all();
  REQUIRE(state.in_flight() == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      look_at_request(rest);
      break;
    case 1:
      look_at_answer(rest);
      break;
    case 2:
      look_at_envelope(rest);
      break;
    default:
      look_at_journal(rest);
  }
  return 0;
}
