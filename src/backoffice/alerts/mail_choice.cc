#include "mail_choice.h"

#include <algorithm>
#include <string_view>

namespace quarry::backoffice {

using repository::PendingAlert;
using repository::Subscriber;

namespace {

// A capability that no user has.
constexpr char kNoCapability = '\0';

bool has(std::string_view letters, char letter) {
  return letters.find(letter) != std::string_view::npos;
}

bool wants(const Subscriber& subscriber, const PendingAlert& alert, char type) {
  const char kind = alert.is_edit ? 'x' : type;
  if (has(subscriber.letters, kind)) return true;
  if (kind != 'f') return false;
  if (has(subscriber.letters, 'n') && !alert.is_answer) return true;
  return has(subscriber.letters, 'r') && !subscriber.user.empty() &&
         std::ranges::find(alert.answered, subscriber.user) != alert.answered.end();
}

char moderators_right(char type) {
  switch (type) {
    case 'f':
      return '5';
    case 't':
      return 'q';
    case 'w':
      return 'l';
    default:
      return kNoCapability;
  }
}

char readers_right(char type) {
  switch (type) {
    case 'c':
      return 'o';
    case 'f':
      return '2';
    case 't':
      return 'r';
    case 'w':
      return 'j';
    default:
      return kNoCapability;
  }
}

}  // namespace

bool may_see(std::string_view capabilities, const repository::AlertReference& event) {
  if (has(capabilities, 'a') || has(capabilities, 's')) return true;
  const char right =
      event.needs_moderator ? moderators_right(event.type) : readers_right(event.type);
  return right != kNoCapability && has(capabilities, right);
}

bool should_notify(const Subscriber& subscriber, const PendingAlert& alert) {
  if (!alert.reference) return false;
  return wants(subscriber, alert, alert.reference->type) &&
         may_see(subscriber.capabilities, *alert.reference);
}

}  // namespace quarry::backoffice
