#include "quarry/courier/body_template.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <kainjow/mustache.hpp>
#include <nlohmann/json.hpp>

#include "quarry/base/escape.h"
#include "quarry/base/fd.h"

namespace quarry::courier {
namespace {

using kainjow::mustache::data;
using Json = nlohmann::json;

// Maximum depth of sections, because the library handles them recursively.
constexpr int kMaxDepth = 32;
// Maximum number of bytes that the sections of a template produce for one event. Nested sections
// multiply each other's output, so even a short template could produce a huge text.
constexpr std::size_t kMaxWork = std::size_t{8} << 20;
constexpr std::size_t kShortHash = 10;

/// Checks the tags of TEXT before the library parses them.
Result<void> check_tags(std::string_view text) {
  int depth = 0;
  for (std::size_t at = text.find("{{"); at != std::string_view::npos; at = text.find("{{", at)) {
    at += 2;
    const std::size_t first = text.find_first_not_of(" \t\r\n", at);
    const char kind = first == std::string_view::npos ? '\0' : text[first];
    // A comment ends at the first closing braces, and can contain other tags.
    if (kind == '!') {
      at = std::min(text.find("}}", first), text.size());
      continue;
    }
    if (kind == '>') return fail(ErrorCode::kInvalid, "partials ({{>…}}) are not supported");
    if (kind == '=') {
      return fail(ErrorCode::kInvalid, "other delimiters ({{=…=}}) are not supported");
    }
    const bool has_mark = kind == '#' || kind == '^' || kind == '/' || kind == '&' || kind == '{';
    const std::size_t name = has_mark ? text.find_first_not_of(" \t\r\n", first + 1) : first;
    if (name != text.npos && text[name] == '}') {
      return fail(ErrorCode::kInvalid, "a tag without a name ({{}})");
    }
    if (kind == '#' || kind == '^') ++depth;
    if (kind == '/') --depth;
    if (depth > kMaxDepth) {
      return fail(ErrorCode::kLimit, "sections are nested more than {} times", kMaxDepth);
    }
  }
  return {};
}

/// Returns FROM as values of a template. Empty text becomes false, so that a section for it is left
/// out.
data values_of(const Json& from) {
  if (from.is_object()) {
    data values = data::type::object;
    for (const auto& [name, value] : from.items()) values.set(name, values_of(value));
    const auto hash = from.find("hash");
    if (hash != from.end() && hash->is_string()) {
      values.set("short", hash->get_ref<const std::string&>().substr(0, kShortHash));
    }
    return values;
  }
  if (from.is_array()) {
    data values = data::type::list;
    for (const Json& each : from) {
      data value = values_of(each);
      if (value.is_object()) value.set("last", data(&each == &from.back()));
      values.push_back(std::move(value));
    }
    return values;
  }
  if (from.is_string()) {
    const auto& text = from.get_ref<const std::string&>();
    return text.empty() ? data(false) : data(text);
  }
  if (from.is_boolean()) return data(from.get<bool>());
  return from.is_null() ? data(false) : data(from.dump());
}

struct TooMuchWork {};

/// Looks up values for a template, and limits the work of rendering.
class CountingContext final : public kainjow::mustache::context<std::string> {
 public:
  CountingContext(const data* values, std::size_t template_size)
      : context(values), template_size_(template_size) {}

  void push(const data* values) override {
    // Without its values, a section is at most as long as the template.
    count(template_size_);
    context::push(values);
  }
  const data* get(const std::string& name) const override {
    const data* found = context::get(name);
    count(name.size() +
          (found != nullptr && found->is_string() ? found->string_value().size() : 0));
    return found;
  }

 private:
  void count(std::size_t bytes) const {
    work_ += bytes;
    if (work_ > kMaxWork) throw TooMuchWork();
  }

  std::size_t template_size_;
  mutable std::size_t work_ = 0;
};

}  // namespace

Result<BodyTemplate> BodyTemplate::read(const std::string& path) {
  const base::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return fail_errno("cannot open the template {}", path);
  std::string text(kMaxTemplate + 1, '\0');
  const ssize_t size = ::read(file.get(), text.data(), text.size());
  if (size < 0) return fail_errno("cannot read the template {}", path);
  text.resize(static_cast<std::size_t>(size));
  auto parsed = parse(std::move(text));
  if (parsed) return parsed;
  return fail(parsed.error().code, "{}: {}", path, parsed.error().message);
}

Result<BodyTemplate> BodyTemplate::parse(std::string text) {
  if (text.size() > kMaxTemplate) {
    return fail(ErrorCode::kLimit, "a template must not be longer than {} bytes", kMaxTemplate);
  }
  if (text.contains('\0')) return fail(ErrorCode::kInvalid, "the template contains a NUL byte");
  QUARRY_TRY(check_tags(text));
  try {
    const kainjow::mustache::mustache parsed(text);
    if (parsed.is_valid()) return BodyTemplate(std::move(text));
    return fail(ErrorCode::kInvalid, "invalid template: {}",
                base::printable(parsed.error_message()));
  } catch (const std::exception& error) {
    return fail(ErrorCode::kInvalid, "invalid template: {}", error.what());
  }
}

Result<std::string> BodyTemplate::fill(
    std::string_view event, const std::string& subject,
    const std::function<std::string(std::string_view)>& escape) const {
  Json parsed = Json::parse(event, nullptr, false);
  if (!parsed.is_object()) return fail(ErrorCode::kInvalid, "the event is not a JSON object");
  parsed["subject"] = subject;
  const data values = values_of(parsed);
  CountingContext context(&values, text_.size());
  kainjow::mustache::mustache filled(text_);
  filled.set_custom_escape([&escape](const std::string& text) {
    std::string quoted;
    base::append_json_string(quoted, escape(text));
    return quoted.substr(1, quoted.size() - 2);
  });
  try {
    std::ostringstream body;
    filled.render(context, body);
    std::string text = std::move(body).str();
    if (text.size() <= kMaxTemplateBody) return text;
  } catch (const TooMuchWork&) {
    // The error below applies.
  }
  return fail(ErrorCode::kLimit, "the template produces a body of more than {} bytes",
              kMaxTemplateBody);
}

}  // namespace quarry::courier
