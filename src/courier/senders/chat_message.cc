#include "chat_message.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "senders.h"

namespace quarry::courier {
namespace {

using Json = nlohmann::json;

// Maximum number of check-ins, refs and other artifacts of a push in a message.
constexpr std::size_t kMaxListed = 10;
constexpr std::size_t kShortHash = 10;
constexpr std::size_t kMaxLineText = 200;
// Maximum size of a message in bytes. Discord accepts 2000 characters, and Mattermost 4000.
constexpr std::size_t kMaxDiscord = 1900;
constexpr std::size_t kMaxOthers = 3900;

/// A part of a line: text, which is a link if a URL is set.
struct Span {
  std::string text;
  std::string url = {};
};
using Line = std::vector<Span>;

std::string first_line(std::string_view text) {
  return event::cut(text.substr(0, text.find_first_of("\r\n")), kMaxLineText);
}

std::string short_hash(const std::string& hash) {
  return hash.substr(0, kShortHash);
}

/// Adds the lines of the message after its first line.
struct Details {
  std::vector<Line>& lines;

  void operator()(const event::Push& push) const {
    const auto& commits = push.commits;
    const std::size_t shown = std::min(commits.size(), kMaxListed);
    for (auto commit = commits.rbegin(); commit != commits.rbegin() + static_cast<long>(shown);
         ++commit) {
      const std::string branch = commit->branch.empty() ? "" : ", " + first_line(commit->branch);
      lines.push_back({{short_hash(commit->hash), commit->url},
                       {fmt::format(" {} ({}{})", first_line(commit->comment),
                                    first_line(commit->user), branch)}});
    }
    if (push.check_ins > shown) {
      const std::size_t more = push.check_ins - shown;
      lines.push_back({{fmt::format("… and {} more check-in{}", more, more == 1 ? "" : "s")}});
    }
    std::size_t count = 0;
    for (const event::Ref& ref : push.refs) {
      if (ref.kind == "tag" && count++ < kMaxListed) {
        lines.push_back({{fmt::format("tag {}: {}", first_line(ref.name),
                                      ref.after ? short_hash(*ref.after) : "cancelled")}});
      }
    }
    for (std::size_t i = 0; i < std::min(push.others.size(), kMaxListed); ++i) {
      const event::OtherArtifact& other = push.others[i];
      lines.push_back({{short_hash(other.hash), other.url},
                       {fmt::format(" {}: {} ({})", other.kind, first_line(other.title),
                                    first_line(other.user))}});
    }
  }
  void operator()(const event::Artifact& artifact) const {
    lines.push_back({{short_hash(artifact.hash), artifact.url}});
    if (!artifact.branch.empty()) lines.back().push_back({" on " + first_line(artifact.branch)});
  }
  void operator()(const event::ChangeSet& change_set) const { add(change_set.detail); }
  void operator()(const event::Security& security) const { add(security.detail); }
  void operator()(const auto& /*unused*/) const {}

  void add(const std::string& text) const {
    if (!text.empty()) lines.push_back({{first_line(text)}});
  }
};

std::vector<Line> lines_of(const event::Event& event) {
  std::vector<Line> lines{{{subject_of(event)}}};
  std::visit(Details{lines}, event.record);
  return lines;
}

/// Returns URL as the target of a link, with special characters encoded, or "" if URL is not a web
/// address.
std::string link_target(std::string_view url) {
  if (!url.starts_with("http://") && !url.starts_with("https://")) return {};
  std::string target;
  for (const char c : url) {
    const bool is_plain = c > ' ' && c != 0x7f && !std::string_view("<>()[]|\\\"`*").contains(c);
    target += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return target;
}

std::string marked_up(Format format, const Span& span) {
  const std::string text = escape_for_chat(format, span.text);
  const std::string url = link_target(span.url);
  if (url.empty()) return text;
  if (format == Format::kSlack) return fmt::format("<{}|{}>", url, text);
  // The angle brackets prevent Discord from showing a preview of the page.
  return format == Format::kDiscord ? fmt::format("[{}](<{}>)", text, url)
                                    : fmt::format("[{}]({})", text, url);
}

std::string text_in(Format format, const std::vector<Line>& lines) {
  const std::size_t limit = format == Format::kDiscord ? kMaxDiscord : kMaxOthers;
  std::string text;
  for (const Line& line : lines) {
    std::string added = text.empty() ? "" : "\n";
    for (const Span& span : line) added += marked_up(format, span);
    if (text.size() + added.size() > limit) return text + "\n…";
    text += added;
  }
  return text;
}

/// Returns LINES as an adaptive card of Microsoft Teams. Text is not escaped, because text runs do
/// not support markup.
Json card_of(const std::vector<Line>& lines) {
  Json body = Json::array();
  for (const Line& line : lines) {
    Json runs = Json::array();
    for (const Span& span : line) {
      Json run = {{"type", "TextRun"}, {"text", escape_for_chat(Format::kTeams, span.text)}};
      if (body.empty()) run["weight"] = "Bolder";
      if (const std::string url = link_target(span.url); !url.empty()) {
        run["selectAction"] = {{"type", "Action.OpenUrl"}, {"url", url}};
      }
      runs.push_back(std::move(run));
    }
    body.push_back({{"type", "RichTextBlock"}, {"inlines", std::move(runs)}});
  }
  Json card = {{"$schema", "http://adaptivecards.io/schemas/adaptive-card.json"},
               {"type", "AdaptiveCard"},
               {"version", "1.4"},
               {"body", std::move(body)}};
  return {{"type", "message"},
          {"attachments",
           {{{"contentType", "application/vnd.microsoft.card.adaptive"},
             {"content", std::move(card)}}}}};
}

}  // namespace

std::string escape_for_chat(Format format, std::string_view text) {
  if (format == Format::kJson) return std::string(text);
  const bool is_markdown = format == Format::kDiscord || format == Format::kMattermost;
  // Backslashes do not prevent mentions, but a zero-width space does.
  constexpr std::string_view kNoMention = "\u200b";
  std::string escaped;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) {
      escaped += ' ';
    } else if (format == Format::kSlack && c == '&') {
      escaped += "&amp;";
    } else if (format == Format::kSlack && c == '<') {
      escaped += "&lt;";
    } else if (format == Format::kSlack && c == '>') {
      escaped += "&gt;";
    } else {
      if (is_markdown && std::string_view("\\`*_{}[]()#|~>").contains(c)) escaped += '\\';
      escaped += c;
      if (is_markdown && (c == '@' || c == '<')) escaped += kNoMention;
    }
  }
  return escaped;
}

std::string chat_message(Format format, const event::Event& event) {
  const std::vector<Line> lines = lines_of(event);
  Json message;
  switch (format) {
    case Format::kDiscord:
      message = {{"content", text_in(format, lines)},
                 {"allowed_mentions", {{"parse", Json::array()}}}};
      break;
    case Format::kTeams:
      message = card_of(lines);
      break;
    default:
      message = {{"text", text_in(format, lines)}};
  }
  return message.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace quarry::courier
