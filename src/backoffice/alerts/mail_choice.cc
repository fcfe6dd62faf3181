#include "mail_choice.h"

#include <algorithm>
#include <array>

namespace quarry::backoffice {

using repository::PendingAlert;
using repository::Subscriber;

namespace {

bool has(std::string_view letters, char letter) {
  return letter != '\0' && letters.contains(letter);
}

bool wants(const Subscriber& subscriber, const PendingAlert& alert, char type) {
  const char kind = alert.is_edit ? 'x' : type;
  if (has(subscriber.letters, kind)) return true;
  if (kind != 'f') return false;
  if (has(subscriber.letters, 'n') && !alert.is_answer) return true;
  return has(subscriber.letters, 'r') && !subscriber.user.empty() &&
         std::ranges::find(alert.answered, subscriber.user) != alert.answered.end();
}

/// Capabilities to read and to moderate events of a type (0: none).
struct EventRights {
  char type;
  char read;
  char moderate;
};
constexpr auto kRights = std::to_array<EventRights>(
    {{'c', 'o', '\0'}, {'f', '2', '5'}, {'t', 'r', 'q'}, {'w', 'j', 'l'}});

}  // namespace

bool may_see(std::string_view capabilities, const repository::AlertReference& event) {
  if (has(capabilities, 'a') || has(capabilities, 's')) return true;
  const auto rights = std::ranges::find(kRights, event.type, &EventRights::type);
  return rights != kRights.end() &&
         has(capabilities, event.needs_moderator ? rights->moderate : rights->read);
}

bool should_notify(const Subscriber& subscriber, const PendingAlert& alert) {
  if (!alert.reference) return false;
  return wants(subscriber, alert, alert.reference->type) &&
         may_see(subscriber.capabilities, *alert.reference);
}

}  // namespace quarry::backoffice
