// Services that are programs: over crashes, a reload and the stop; and those that run on request.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "eventually.h"
#include "quarry/base/fd.h"
#include "temporary_folder.h"

namespace {

using quarry::base::Fd;

constexpr int kWhile = 150;  // milliseconds in which a mistake would show

struct ServiceWord {
  char what = 0;  // 0: nothing came
  int number = 0;
  pid_t pid = -1;
};

/// A small-master (see small_master.cc) and what its processes say.
class SmallMaster {
 public:
  explicit SmallMaster(bool asks_by_itself = false) {
    if (asks_by_itself) std::ofstream(folder_ / "itself").put('!');
    for (const char* name : {"words", "asks"}) {
      REQUIRE(::mkfifo((folder_ / name).c_str(), 0600) == 0);
    }
    asks_.reset(::open((folder_ / "asks").c_str(), O_RDWR | O_CLOEXEC));
    words_.reset(::open((folder_ / "words").c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
    const std::string folder = (folder_ / "words").parent_path().string();
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      ::execl(QUARRY_SMALL_MASTER, "small-master", folder.c_str(), nullptr);
      ::_exit(127);
    }
  }
  ~SmallMaster() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  }

  void signal(int number) const { ::kill(pid_, number); }
  /// The worker asks for jobs.
  void ask_for(std::initializer_list<std::uint8_t> numbers) const {
    for (const std::uint8_t number : numbers) REQUIRE(::write(asks_.get(), &number, 1) == 1);
  }
  /// Whether all that was asked for was read before long.
  bool is_heard() const {
    return eventually([&] {
      int waiting = 0;
      return ::ioctl(asks_.get(), FIONREAD, &waiting) == 0 && waiting == 0;
    });
  }
  /// The receiver does not end while it is held.
  void hold_receiver() const { std::ofstream(folder_ / "hold").put('!'); }
  void release_receiver() const { std::filesystem::remove(folder_ / "hold"); }
  void remove_receiver() const { std::filesystem::remove(folder_ / "receiver"); }
  /// Whether the log has TEXT before long.
  bool logs(const std::string& text) const {
    return eventually([&] {
      std::stringstream log;
      log << std::ifstream(folder_ / "log").rdbuf();
      return log.str().find(text) != std::string::npos;
    });
  }
  /// Jobs that have paused may go on.
  void wake_jobs() const { std::ofstream(folder_ / "wake").put('!'); }
  /// Jobs of 100 and more may end.
  void let_jobs_end() const { std::ofstream(folder_ / "go").put('!'); }
  /// The next word that is said.
  ServiceWord next() {
    while (text_.find('\n') == std::string::npos) {
      pollfd wait{words_.get(), POLLIN, 0};
      if (::poll(&wait, 1, kPatience) != 1) return {};
      char bytes[4096];
      const ssize_t size = ::read(words_.get(), bytes, sizeof bytes);
      if (size > 0) text_.append(bytes, static_cast<std::size_t>(size));
    }
    const std::size_t end = text_.find('\n');
    const std::string line = text_.substr(0, end);
    text_.erase(0, end + 1);
    std::istringstream fields(line);
    ServiceWord word;
    fields >> word.what >> word.number >> word.pid;
    return word;
  }
  /// Whether nothing is said for a while.
  bool is_silent() const {
    pollfd wait{words_.get(), POLLIN, 0};
    return text_.empty() && ::poll(&wait, 1, kWhile) == 0;
  }
  /// So many words, in the order in which they came.
  std::vector<ServiceWord> next(int count) {
    std::vector<ServiceWord> words;
    for (int i = 0; i < count; ++i) words.push_back(next());
    return words;
  }
  /// What the receiver answers who connects; "" if nobody does.
  std::string ask_receiver() const {
    const Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, (folder_ / "s").c_str(), sizeof address.sun_path - 1);
    REQUIRE(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    pollfd wait{fd.get(), POLLIN, 0};
    char bytes[16];
    if (::poll(&wait, 1, kPatience) != 1) return {};
    const ssize_t size = ::read(fd.get(), bytes, sizeof bytes);
    return {bytes, static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  }
  int wait_for_end() {
    int status = -1;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return status;
  }

 private:
  TemporaryFolder folder_;
  Fd asks_;
  Fd words_;
  std::string text_;
  pid_t pid_ = -1;
};

std::map<char, pid_t> by_letter(const std::vector<ServiceWord>& words) {
  std::map<char, pid_t> found;
  for (const ServiceWord& word : words) found[word.what] = word.pid;
  return found;
}

/// Until proc(5) calls PID's state so.
void wait_until(pid_t pid, char state) {
  const std::string wanted = std::string(") ") + state;
  REQUIRE(eventually([&] {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string stat;
    std::getline(file, stat);
    return stat.find(wanted) != std::string::npos;
  }));
}

void wait_until_dead(pid_t pid) {
  wait_until(pid, 'Z');
}

void hold(pid_t pid) {
  REQUIRE(::kill(pid, SIGSTOP) == 0);
  wait_until(pid, 'T');
}

void release(pid_t pid) {
  REQUIRE(::kill(pid, SIGCONT) == 0);
}

std::string letters(const std::vector<ServiceWord>& words) {
  std::string all;
  for (const ServiceWord& word : words) all += word.what;
  return all;
}

}  // namespace

TEST_CASE("a program is started with its listening socket, and again when it crashes") {
  SmallMaster master;
  auto said = by_letter(master.next(2));
  REQUIRE(said.contains('w'));
  REQUIRE(said.contains('r'));
  CHECK(master.ask_receiver() == "taken\n");
  REQUIRE(::kill(said['r'], SIGSEGV) == 0);
  const ServiceWord again = master.next();
  CHECK(again.what == 'r');
  CHECK(again.pid != said['r']);
  CHECK(master.ask_receiver() == "taken\n");
}

TEST_CASE("the reason why a program cannot be executed is logged") {
  SmallMaster master;
  const auto said = by_letter(master.next(2));
  master.remove_receiver();
  REQUIRE(::kill(said.at('r'), SIGKILL) == 0);
  CHECK(master.logs("receiver: No such file or directory"));
}

TEST_CASE("after a reload, a program that must be alone starts when the old one has ended") {
  SmallMaster master;
  const auto before = by_letter(master.next(2));
  master.hold_receiver();
  master.signal(SIGUSR2);
  // The pool's new worker does not wait for the old one.
  const auto workers = by_letter(master.next(2));
  CHECK(workers.contains('w'));
  CHECK(workers.contains('W'));
  CHECK(master.is_silent());
  master.release_receiver();
  const auto words = master.next(2);
  CHECK(letters(words) == "Rr");
  CHECK(words[0].pid == before.at('r'));
  CHECK(words[1].pid != before.at('r'));
  CHECK(master.ask_receiver() == "taken\n");
}

TEST_CASE("receivers are stopped after the workers, gracefully and immediately") {
  for (const int number : {SIGQUIT, SIGTERM}) {
    SmallMaster master;
    const pid_t worker = by_letter(master.next(2)).at('w');
    hold(worker);
    master.signal(number);
    CHECK(master.is_silent());
    release(worker);
    // A worker that is terminated says nothing.
    CHECK(letters(master.next(number == SIGQUIT ? 2 : 1)) == (number == SIGQUIT ? "WR" : "R"));
    CHECK(master.wait_for_end() == 0);
  }
}

TEST_CASE("a job runs once for the requested number") {
  SmallMaster master;
  master.next(2);
  master.ask_for({7});
  const auto words = master.next(2);
  CHECK(letters(words) == "jJ");
  CHECK(words[0].number == 7);
  // One that the master does not know is not run, and the next one is.
  master.ask_for({50, 8});
  CHECK(master.next().number == 8);
}

TEST_CASE("a worker's request is handled although it has ended") {
  SmallMaster master;
  const auto said = by_letter(master.next(2));
  // The master finds both deaths, and what was asked for, at once.
  master.signal(SIGSTOP);
  REQUIRE(::kill(said.at('r'), SIGKILL) == 0);
  wait_until_dead(said.at('r'));
  master.ask_for({7});
  REQUIRE(master.is_heard());
  REQUIRE(::kill(said.at('w'), SIGQUIT) == 0);
  CHECK(master.next().what == 'W');
  wait_until_dead(said.at('w'));
  master.signal(SIGCONT);
  const auto words = by_letter(master.next(4));
  CHECK(words.contains('w'));
  CHECK(words.contains('r'));
  CHECK(words.contains('j'));
}

TEST_CASE("a request from a worker of an earlier generation is handled") {
  SmallMaster master;
  const auto before = by_letter(master.next(2));
  hold(before.at('w'));
  master.signal(SIGUSR2);
  const auto after = by_letter(master.next(3));
  REQUIRE(after.contains('r'));
  hold(after.at('w'));
  master.ask_for({7});
  release(before.at('w'));
  const auto words = by_letter(master.next(3));
  CHECK(words.contains('W'));
  CHECK(words.contains('j'));
  CHECK(words.contains('J'));
  release(after.at('w'));  // or it would outlive the test
}

TEST_CASE("jobs that must be alone start when those of the previous generation have ended") {
  SmallMaster master;
  master.next(2);
  master.ask_for({200});
  CHECK(letters(master.next(1)) == "j");
  master.signal(SIGUSR2);
  REQUIRE(by_letter(master.next(4)).contains('r'));
  master.ask_for({8});
  CHECK(master.is_silent());
  master.let_jobs_end();
  CHECK(letters(master.next(3)) == "JjJ");
}

TEST_CASE("the number of running jobs is limited, and waiting ones get their turn") {
  SmallMaster master;
  master.next(2);
  master.ask_for({100, 101, 102, 103, 102});
  auto words = master.next(2);
  CHECK(letters(words) == "jj");
  CHECK(std::set{words[0].number, words[1].number} == std::set{100, 101});
  CHECK(master.is_silent());
  master.let_jobs_end();
  for (const ServiceWord& word : master.next(6)) words.push_back(word);
  std::multiset<int> begun;
  int at_once = 0;
  int most = 0;
  for (const ServiceWord& word : words) {
    if (word.what == 'j') begun.insert(word.number);
    at_once += word.what == 'j' ? 1 : -1;
    most = std::max(most, at_once);
  }
  CHECK(begun == std::multiset<int>{100, 101, 102, 103});  // 102 was asked for while it waited
  CHECK(most == 2);
}

TEST_CASE("a job requested again while it runs is run once more") {
  SmallMaster master;
  master.next(2);
  master.ask_for({100});
  CHECK(letters(master.next(1)) == "j");
  master.ask_for({100, 100, 5});
  // The other place is free all the time; number 5 shows that the requests before it were heard.
  CHECK(letters(master.next(2)) == "jJ");
  master.let_jobs_end();
  const auto words = master.next(3);
  CHECK(letters(words) == "JjJ");
  CHECK(words[1].number == 100);
}

TEST_CASE("a paused job frees its place, and gets one again before it continues") {
  SmallMaster master;
  master.next(2);
  master.ask_for({60, 61, 62});
  CHECK(std::ranges::count(master.next(6), 'p', &ServiceWord::what) == 3);
  master.ask_for({100, 101});
  CHECK(letters(master.next(2)) == "jj");
  master.wake_jobs();
  CHECK(master.is_silent());  // both places are taken
  master.let_jobs_end();
  const auto words = master.next(8);
  CHECK(std::ranges::count(words, 'g', &ServiceWord::what) == 3);
  CHECK(std::ranges::count(words, 'J', &ServiceWord::what) == 5);
}

TEST_CASE("the number of paused jobs is limited, and others wait to start") {
  SmallMaster master;
  master.next(2);
  // Two may run at once, and three pause beside them.
  master.ask_for({60, 61, 62, 63, 64, 65});
  CHECK(std::ranges::count(master.next(10), 'p', &ServiceWord::what) == 5);
  CHECK(master.is_silent());
  master.wake_jobs();
  const auto words = master.next(14);
  CHECK(std::ranges::count(words, 'J', &ServiceWord::what) == 6);
  CHECK(std::ranges::count(words, 'j', &ServiceWord::what) == 1);
}

TEST_CASE("a job that exceeds its timeout is ended, and its place is freed") {
  SmallMaster master;
  master.next(2);
  master.ask_for({100, 101, 6});
  CHECK(letters(master.next(2)) == "jj");
  const ServiceWord next = master.next();  // nobody has let those two end
  CHECK(next.what == 'j');
  CHECK(next.number == 6);
}

TEST_CASE("jobs that fail immediately are started with a delay") {
  SmallMaster master;
  master.next(2);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 8; ++i) {
    master.ask_for({13});
    CHECK(letters(master.next(2)) == "jJ");
  }
  // Four are forgiven; the others waited 50, 100 and 200 ms.
  CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(350));
}

TEST_CASE("jobs are stopped after the workers that request them, and before the receiver") {
  SmallMaster master;
  const pid_t worker = by_letter(master.next(2)).at('w');
  master.ask_for({100});
  const ServiceWord job = master.next();
  CHECK(job.what == 'j');
  hold(worker);
  master.signal(SIGQUIT);
  CHECK(master.is_silent());
  CHECK(::kill(job.pid, 0) == 0);
  hold(job.pid);
  release(worker);
  CHECK(letters(master.next(1)) == "W");
  CHECK(master.is_silent());
  // The job ends by SIGTERM, and says nothing.
  release(job.pid);
  CHECK(letters(master.next(1)) == "R");
  CHECK(master.wait_for_end() == 0);
}

TEST_CASE("programs that crash repeatedly do not affect others") {
  SmallMaster master;
  master.next(2);
  for (int i = 0; i < 3; ++i) {
    master.ask_for({14});
    CHECK(letters(master.next(2)) == "jJ");
  }
  CHECK(master.is_silent());
}

TEST_CASE("the master's own jobs run at startup, and when their child asks for it") {
  SmallMaster master(true);
  std::map<int, int> runs;
  // The worker and the receiver have said a word, too.
  for (const ServiceWord& word : master.next(2 + 2 * 4)) {
    if (word.what == 'j') ++runs[word.number];
  }
  CHECK(runs == std::map<int, int>{{70, 3}, {72, 1}});
}

TEST_CASE("a job that the master did not request itself cannot reschedule itself") {
  SmallMaster master;
  master.next(2);
  master.ask_for({70});
  CHECK(letters(master.next(2)) == "jJ");
  // By when another one's has had itself run again, twice.
  CHECK(SmallMaster(true).next(2 + 2 * 4).size() == 10);
  CHECK(master.is_silent());
}

TEST_CASE("a job may request another one") {
  SmallMaster master;
  master.next(2);
  master.ask_for({71});
  std::multiset<int> begun;
  for (const ServiceWord& word : master.next(4)) {
    if (word.what == 'j') begun.insert(word.number);
  }
  CHECK(begun == std::multiset<int>{7, 71});
}
