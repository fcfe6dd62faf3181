// The part of History that creates documents of all types.

#include <fmt/core.h>

#include "history.h"
#include "quarry/artifact/digest.h"
#include "quarry/artifact/fossilize.h"
#include "quarry/base/time.h"

namespace quarry::repository::test {

namespace {

std::string id_of(std::string_view kind, int number) {
  return artifact::sha1_hex(fmt::format("{} {}", kind, number));
}

}  // namespace

/// Returns a D card. Dates ascend with NUMBER, and pairs of numbers have the same date.
std::string History::date_card(int number) {
  return fmt::format("D {}\n", base::iso_millis({kStart + 50000LL * (number - number % 2)}));
}

std::string History::any_text(int number) {
  const std::string link = artifact::sha1_hex(fmt::format("link {}", below(20))).substr(0, 12);
  const std::string texts[] = {
      "",
      " \n\t text without a link",
      fmt::format("see [{}] and [/info/{}|a name] & <b>[{}</b>", link, link.substr(0, 6), number),
      fmt::format("  <verbatim>[{0}]</verbatim> <nowiki>[{0}]</nowiki>\n\n  *  [{0} | x]\n", link),
      fmt::format("# Title\n\nSee [this]({0}), `[that]({0}a)`, [ref][], \\[no]({0}b)\n\n"
                  "    [code]({0}c)\n\n> * [quoted](/info/{0}d)\n\n[ref]: {0}e\n",
                  link.substr(0, 8)),
      fmt::format("a{0} [x](<{1}> \"title\") *[y]({1}f)* ![image]({1}e)", number, link),
  };
  return texts[below(6)];
}

/// Returns the cards from the N card on. BEFORE_USER contains the P and T cards.
std::string History::text_cards(const std::string& before_user, const std::string& text) {
  const std::string mimetypes[] = {"", "N text/x-markdown\n", "N text/plain\n",
                                   "N text/x-fossil-wiki\n"};
  return mimetypes[below(4)] + before_user +
         fmt::format("U user{}\nW {}\n{}\n", below(3), text.size(), text);
}

void History::document(int number) {
  wiki_page(number);
  ticket_change(number);
  if (chance(50)) technote(number);
  attachment(number);
  forum_post(number);
  if (chance(30)) control_of_document(number);
}

void History::wiki_page(int number) {
  const std::string titles[] = {"Home", "A <page> & more", "S\u00e4nger", "checkin/0123"};
  const std::string title = titles[below(4)];
  std::string prior;
  if (pages_.contains(title) && !chance(10)) prior = fmt::format("P {}\n", pages_[title]);
  if (chance(3)) prior = fmt::format("P {}\n", id_of("no page", number));
  pages_[title] =
      add(finish(date_card(number * 2) + fmt::format("L {}\n", artifact::fossilize(title)) +
                 text_cards(prior, any_text(number))));
}

void History::ticket_change(int number) {
  std::map<std::string, std::string> fields;
  for (int count = 1 + below(5); count > 0; --count) {
    const std::string names[] = {"title",     "status",   "+comment", "comment",  "icomment",
                                 "login",     "mimetype", "odd",      "+title",   "private_contact",
                                 "+icomment", "tkt_uuid", "priority", "odd field"};
    const std::string name = names[below(14)];
    const std::string mimetypes[] = {"text/x-markdown", "text/x-fossil-wiki", "text/plain", ""};
    fields[name == "odd field" ? "odd_field" : name] =
        name == "mimetype" ? mimetypes[below(4)] : any_text(number);
    if (name == "status") fields[name] = chance(50) ? "Closed" : "<Open> & 'odd'";
  }
  std::string cards = date_card(number / 3);
  for (const auto& [name, value] : fields) {
    cards += fmt::format("J {}{}{}\n", name, value.empty() ? "" : " ", artifact::fossilize(value));
  }
  add(finish(cards + fmt::format("K {}\n{}", id_of("ticket", below(5)),
                                 chance(90) ? fmt::format("U user{}\n", below(3)) : "U nobody\n")));
}

void History::technote(int number) {
  const std::string id = id_of("technote", below(4));
  std::string cards;
  if (chance(80)) cards += fmt::format("C note\\s{}\\s<&\\s[abcd1234]\n", number);
  cards += fmt::format("D {}\n", base::iso_millis({kStart + 100000LL * number}));
  cards +=
      fmt::format("E {} {}\n", base::iso_millis({kStart + 7000LL * below(1000)}).substr(0, 19), id);
  std::string inner;
  if (technotes_.contains(id) && !(is_ambiguous() && chance(30)))
    inner = fmt::format("P {}\n", technotes_[id]);
  if (chance(20)) inner += fmt::format("T {}bgcolor * #0{:05d}\n", chance(50) ? '*' : '+', number);
  technotes_[id] = add(finish(cards + text_cards(inner, any_text(number))));
}

void History::attachment(int number) {
  const std::string wiki[] = {"Home", "A <page> & more", "nowhere"};
  const int kind = below(4);
  const std::string target = kind == 0   ? wiki[below(3)]
                             : kind == 1 ? id_of("ticket", below(6))
                             : kind == 2 ? id_of("technote", below(5))
                                         : id_of("nothing", below(2));
  const bool is_removal = chance(25) && (kind != 2 || is_ambiguous());
  const std::string names[] = {"a.txt", "an <odd> & name.txt", "c"};
  std::string card =
      fmt::format("A {} {}", artifact::fossilize(names[below(3)]), artifact::fossilize(target));
  if (!is_removal) card += " " + artifact::sha3_256_hex(fmt::format("file {}", below(20)));
  if (chance(50)) card += fmt::format("\nC comment\\s{}", number);
  add(finish(card + "\n" + date_card(number) + (chance(90) ? "U user1\n" : "")));
}

void History::forum_post(int number) {
  const std::string title = fmt::format("H title:\\s{}\\s<&\n", number);
  const std::string date = date_card(number * 2 + 1);
  const std::string text = any_text(number);
  if (posts_.empty() || chance(15)) {
    const std::string name = add(finish(date + (chance(90) ? title : "") + text_cards("", text)));
    posts_.push_back({name, name, ""});
    return;
  }
  if (chance(5)) {
    const std::string lost = id_of("no post", below(2));
    const std::string name =
        add(finish(date + fmt::format("G {0}\nI {0}\n", lost) + text_cards("", text)));
    posts_.push_back({name, lost, lost});
    return;
  }
  const Post& other = posts_[static_cast<std::size_t>(below(static_cast<int>(posts_.size())))];
  Post made{"", other.root, other.name};
  // The other post becomes the root of a separate thread.
  if (is_ordered() && chance(10)) made.root = other.name;
  std::string cards = date + fmt::format("G {}\n", made.root);
  std::string prior;
  if (chance(40)) {  // edits the other post
    made.in_reply_to = other.in_reply_to;
    prior = fmt::format("P {}\n", other.name);
  }
  if (made.in_reply_to.empty() && chance(80)) cards += title;
  if (!made.in_reply_to.empty()) cards += fmt::format("I {}\n", made.in_reply_to);
  made.name = add(finish(cards + text_cards(prior, text)));
  posts_.push_back(made);
}

void History::control_of_document(int number) {
  std::string target =
      posts_[static_cast<std::size_t>(below(static_cast<int>(posts_.size())))].name;
  if (is_ambiguous() && chance(50)) target = pages_.begin()->second;
  if (is_ambiguous() && chance(30) && !technotes_.empty()) target = technotes_.begin()->second;
  const std::string tags[] = {
      fmt::format("T +bgcolor {} #ff{:04d}\n", target, number),
      fmt::format("T +comment {} better\\s[abcdef{:04d}]\n", target, number),
      fmt::format("T +user {} someone<{}\n", target, number),
      fmt::format("T +date {} 2018-01-01T00:00:{:02d}\n", target, number % 60),
      fmt::format("T -comment {}\n", target),
      fmt::format("T +sym-docs{} {}\n", number, target),
      fmt::format("T *line{} {} {}\n", is_ambiguous() ? "" : std::to_string(number), target,
                  number),
  };
  const std::int64_t date = kStart + 500LL * 86400000 + number * 60000;
  add(finish(fmt::format("D {}\n{}U admin\n", base::iso_millis({date}), tags[below(7)])));
}

}  // namespace quarry::repository::test
