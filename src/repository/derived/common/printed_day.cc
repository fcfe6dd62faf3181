#include "printed_day.h"

#include <string>

namespace quarry::repository {
namespace {

constexpr int kSignificantDigits = 16;

/// Returns DAY with 16 significant digits. DAY must be at least 1 and below 1e8.
std::string printed(double day) {
  long double value = day;
  int point = 1;
  while (value >= 10.0L) {
    value *= 0.1;
    ++point;
  }
  long double half_unit = 0.5;
  for (int i = 0; i < kSignificantDigits; ++i) half_unit *= 0.1;
  value += half_unit;
  if (value >= 10.0L) {
    value *= 0.1;
    ++point;
  }
  std::string text;
  for (int i = 0; i < kSignificantDigits; ++i) {
    if (i == point) text += '.';
    const int digit = static_cast<int>(value);
    text += static_cast<char>('0' + digit);
    value = (value - digit) * 10.0L;
  }
  return text;
}

}  // namespace

double printed_day(Database& database, double day) {
  // A D card can contain only the years 0 to 9999, whose days are in this range.
  if (day < 1.0 || day >= 1e8) return day;
  const std::string text = printed(day);
  Query query = database.query("SELECT CAST(?1 AS REAL)", text);
  return query.step() ? query.real(0) : day;
}

}  // namespace quarry::repository
