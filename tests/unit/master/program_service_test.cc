// Tests services that are programs, and jobs that run on request, during crashes, a reload and a
// stop.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "connect_to.h"
#include "eventually.h"
#include "quarry/base/fd.h"
#include "quarry/base/socket.h"
#include "quarry/base/spawn.h"
#include "temporary_folder.h"

namespace {

using quarry::base::Fd;

constexpr int kWhile = 150;  // milliseconds to wait for a report that must not arrive

struct ServiceWord {
  char what = 0;  // 0: no report arrived
  int number = 0;
  pid_t pid = -1;
};

/// Runs small-master (see small_master.cc) and reads the reports of its processes.
class SmallMaster {
 public:
  explicit SmallMaster(bool asks_by_itself = false) {
    if (asks_by_itself) make("itself");
    for (const char* name : {"words", "asks"}) {
      REQUIRE(::mkfifo((folder_ / name).c_str(), 0600) == 0);
    }
    asks_.reset(::open((folder_ / "asks").c_str(), O_RDWR | O_CLOEXEC));
    words_.reset(::open((folder_ / "words").c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
    const auto pid = quarry::base::spawn(
        {.words = {QUARRY_SMALL_MASTER, folder_.path().string()}, .descriptors = {0, 1, 2}});
    REQUIRE(pid);
    pid_ = *pid;
  }
  ~SmallMaster() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  }

  void signal(int number) const { ::kill(pid_, number); }
  /// Makes the worker request the jobs NUMBERS.
  void ask_for(std::initializer_list<std::uint8_t> numbers) const {
    for (const std::uint8_t number : numbers) REQUIRE(::write(asks_.get(), &number, 1) == 1);
  }
  /// Waits until the worker has read all requests. Returns false after kPatience.
  bool is_heard() const {
    return eventually([&] {
      int waiting = 0;
      return ::ioctl(asks_.get(), FIONREAD, &waiting) == 0 && waiting == 0;
    });
  }
  /// Creates one of the files that small_master.cc describes.
  void make(const char* file) const { std::ofstream(folder_ / file).put('!'); }
  void remove(const char* file) const { std::filesystem::remove(folder_ / file); }
  /// Waits until the log contains TEXT. Returns false after kPatience.
  bool logs(const std::string& text) const {
    return eventually([&] {
      std::stringstream log;
      log << std::ifstream(folder_ / "log").rdbuf();
      return log.str().find(text) != std::string::npos;
    });
  }
  /// Waits for the next report of a process.
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
  /// Returns true if no process sends a report within kWhile.
  bool is_silent() const {
    pollfd wait{words_.get(), POLLIN, 0};
    return text_.empty() && ::poll(&wait, 1, kWhile) == 0;
  }
  /// Waits for COUNT reports and returns them in the order of arrival.
  std::vector<ServiceWord> next(int count) {
    std::vector<ServiceWord> words;
    for (int i = 0; i < count; ++i) words.push_back(next());
    return words;
  }
  /// Connects to the receiver and returns its answer, or an empty string after kPatience.
  std::string ask_receiver() const {
    const auto address = quarry::base::SocketAddress::parse((folder_ / "s").string());
    const auto connected = connect_to(*address);
    REQUIRE(connected);
    const Fd& fd = *connected;
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

/// A SmallMaster whose worker ('w') and receiver ('r') have started.
struct ReadyMaster : SmallMaster {
  std::map<char, pid_t> pids = by_letter(next(2));
};

/// Waits until the process PID is in STATE, for example 'Z' (see proc(5)).
void wait_until(pid_t pid, char state) {
  const std::string wanted = std::string(") ") + state;
  REQUIRE(eventually([&] {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string stat;
    std::getline(file, stat);
    return stat.find(wanted) != std::string::npos;
  }));
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

TEST_CASE_FIXTURE(ReadyMaster,
                  "a program is started with its listening socket, and again when it crashes") {
  const pid_t receiver = pids.at('r');
  CHECK(pids.contains('w'));
  CHECK(ask_receiver() == "taken\n");
  REQUIRE(::kill(receiver, SIGSEGV) == 0);
  const ServiceWord again = next();
  CHECK(again.what == 'r');
  CHECK(again.pid != receiver);
  CHECK(ask_receiver() == "taken\n");
}

TEST_CASE_FIXTURE(ReadyMaster, "the reason why a program cannot be executed is logged") {
  remove("receiver");
  REQUIRE(::kill(pids.at('r'), SIGKILL) == 0);
  CHECK(logs("receiver: No such file or directory"));
}

TEST_CASE_FIXTURE(
    ReadyMaster, "after a reload, a program that must be alone starts when the old one has ended") {
  make("hold");
  signal(SIGUSR2);
  // The pool starts its new worker although the old receiver is still running.
  const auto workers = by_letter(next(2));
  CHECK(workers.contains('w'));
  CHECK(workers.contains('W'));
  CHECK(is_silent());
  remove("hold");
  const auto words = next(2);
  CHECK(letters(words) == "Rr");
  CHECK(words[0].pid == pids.at('r'));
  CHECK(words[1].pid != pids.at('r'));
  CHECK(ask_receiver() == "taken\n");
}

TEST_CASE("receivers are stopped after the workers, gracefully and immediately") {
  for (const int number : {SIGQUIT, SIGTERM}) {
    ReadyMaster master;
    const pid_t worker = master.pids.at('w');
    hold(worker);
    master.signal(number);
    CHECK(master.is_silent());
    release(worker);
    // After SIGTERM a worker stops without a report.
    CHECK(letters(master.next(number == SIGQUIT ? 2 : 1)) == (number == SIGQUIT ? "WR" : "R"));
    CHECK(master.wait_for_end() == 0);
  }
}

TEST_CASE_FIXTURE(ReadyMaster, "a job runs once for the requested number") {
  ask_for({7});
  const auto words = next(2);
  CHECK(letters(words) == "jJ");
  CHECK(words[0].number == 7);
  // The unknown job 50 is ignored. Job 8 still runs.
  ask_for({50, 8});
  CHECK(next().number == 8);
}

TEST_CASE_FIXTURE(ReadyMaster, "a worker's request is handled although it has ended") {
  // When the stopped master continues, it finds the receiver's death, the request and the worker's
  // death in the same iteration of its event loop.
  signal(SIGSTOP);
  REQUIRE(::kill(pids.at('r'), SIGKILL) == 0);
  wait_until(pids.at('r'), 'Z');
  ask_for({7});
  REQUIRE(is_heard());
  REQUIRE(::kill(pids.at('w'), SIGQUIT) == 0);
  CHECK(next().what == 'W');
  wait_until(pids.at('w'), 'Z');
  signal(SIGCONT);
  const auto words = by_letter(next(4));
  CHECK(words.contains('w'));
  CHECK(words.contains('r'));
  CHECK(words.contains('j'));
}

TEST_CASE_FIXTURE(ReadyMaster, "a request from a worker of an earlier generation is handled") {
  hold(pids.at('w'));
  signal(SIGUSR2);
  const auto after = by_letter(next(3));
  REQUIRE(after.contains('r'));
  hold(after.at('w'));
  ask_for({7});
  release(pids.at('w'));
  const auto words = by_letter(next(3));
  CHECK(words.contains('W'));
  CHECK(words.contains('j'));
  CHECK(words.contains('J'));
  release(after.at('w'));  // ends the worker
}

TEST_CASE_FIXTURE(
    ReadyMaster, "jobs that must be alone start when those of the previous generation have ended") {
  ask_for({200});
  CHECK(letters(next(1)) == "j");
  signal(SIGUSR2);
  REQUIRE(by_letter(next(4)).contains('r'));
  ask_for({8});
  CHECK(is_silent());
  make("go");
  CHECK(letters(next(3)) == "JjJ");
}

TEST_CASE_FIXTURE(ReadyMaster,
                  "the number of running jobs is limited, and waiting ones get their turn") {
  ask_for({100, 101, 102, 103, 102});
  auto words = next(2);
  CHECK(letters(words) == "jj");
  CHECK(std::set{words[0].number, words[1].number} == std::set{100, 101});
  CHECK(is_silent());
  make("go");
  for (const ServiceWord& word : next(6)) words.push_back(word);
  std::multiset<int> begun;
  int at_once = 0;
  int most = 0;
  for (const ServiceWord& word : words) {
    if (word.what == 'j') begun.insert(word.number);
    at_once += word.what == 'j' ? 1 : -1;
    most = std::max(most, at_once);
  }
  CHECK(begun == std::multiset<int>{100, 101, 102, 103});  // job 102 runs once
  CHECK(most == 2);
}

TEST_CASE_FIXTURE(ReadyMaster, "a job requested again while it runs is run once more") {
  ask_for({100});
  CHECK(letters(next(1)) == "j");
  ask_for({100, 100, 5});
  // The report of job 5 shows that the master has received the earlier requests.
  CHECK(letters(next(2)) == "jJ");
  make("go");
  const auto words = next(3);
  CHECK(letters(words) == "JjJ");
  CHECK(words[1].number == 100);
}

TEST_CASE_FIXTURE(ReadyMaster,
                  "a paused job frees its place, and gets one again before it continues") {
  ask_for({60, 61, 62});
  CHECK(std::ranges::count(next(6), 'p', &ServiceWord::what) == 3);
  ask_for({100, 101});
  CHECK(letters(next(2)) == "jj");
  make("wake");
  CHECK(is_silent());  // jobs 100 and 101 occupy both places
  make("go");
  const auto words = next(8);
  CHECK(std::ranges::count(words, 'g', &ServiceWord::what) == 3);
  CHECK(std::ranges::count(words, 'J', &ServiceWord::what) == 5);
}

TEST_CASE_FIXTURE(ReadyMaster, "the number of paused jobs is limited, and others wait to start") {
  // Two jobs can run at the same time, and three more can be paused.
  ask_for({60, 61, 62, 63, 64, 65});
  CHECK(std::ranges::count(next(10), 'p', &ServiceWord::what) == 5);
  CHECK(is_silent());
  make("wake");
  const auto words = next(14);
  CHECK(std::ranges::count(words, 'J', &ServiceWord::what) == 6);
  CHECK(std::ranges::count(words, 'j', &ServiceWord::what) == 1);
}

TEST_CASE_FIXTURE(ReadyMaster, "a job that exceeds its timeout is ended, and its place is freed") {
  ask_for({100, 101, 6});
  CHECK(letters(next(2)) == "jj");
  const ServiceWord third = next();  // starts only after the timeout of job 100 or 101
  CHECK(third.what == 'j');
  CHECK(third.number == 6);
}

TEST_CASE_FIXTURE(ReadyMaster, "jobs that fail immediately are started with a delay") {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 8; ++i) {
    ask_for({13});
    CHECK(letters(next(2)) == "jJ");
  }
  // The first four failures do not cause a delay. The following starts are delayed by 50, 100 and
  // 200 ms.
  CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(350));
}

TEST_CASE_FIXTURE(ReadyMaster,
                  "jobs are stopped after the workers that request them, and before the receiver") {
  const pid_t worker = pids.at('w');
  ask_for({100});
  const ServiceWord job = next();
  CHECK(job.what == 'j');
  hold(worker);
  signal(SIGQUIT);
  CHECK(is_silent());
  CHECK(::kill(job.pid, 0) == 0);
  hold(job.pid);
  release(worker);
  CHECK(letters(next(1)) == "W");
  CHECK(is_silent());
  // A job that is ended by SIGTERM does not send a report.
  release(job.pid);
  CHECK(letters(next(1)) == "R");
  CHECK(wait_for_end() == 0);
}

TEST_CASE_FIXTURE(ReadyMaster, "programs that crash repeatedly do not affect others") {
  for (int i = 0; i < 3; ++i) {
    ask_for({14});
    CHECK(letters(next(2)) == "jJ");
  }
  CHECK(is_silent());
}

TEST_CASE("the master's own jobs run at startup, and when their child asks for it") {
  SmallMaster master(true);
  std::map<int, int> runs;
  // The first two reports come from the worker and the receiver.
  for (const ServiceWord& word : master.next(2 + 2 * 4)) {
    if (word.what == 'j') ++runs[word.number];
  }
  CHECK(runs == std::map<int, int>{{70, 3}, {72, 1}});
}

TEST_CASE_FIXTURE(ReadyMaster,
                  "a job that the master did not request itself cannot reschedule itself") {
  ask_for({70});
  CHECK(letters(next(2)) == "jJ");
  // Meanwhile, another master runs job 70 three times, because it has requested the job itself.
  CHECK(SmallMaster(true).next(2 + 2 * 4).size() == 10);
  CHECK(is_silent());
}

TEST_CASE_FIXTURE(ReadyMaster, "a job may request another one") {
  ask_for({71});
  std::multiset<int> begun;
  for (const ServiceWord& word : next(4)) {
    if (word.what == 'j') begun.insert(word.number);
  }
  CHECK(begun == std::multiset<int>{7, 71});
}
