// A minimal server for the tests of services that are programs. It has a pool whose worker requests
// jobs, and a receiver that must not run twice at the same time. The jobs and the receiver are this
// program with other arguments:
//
//   small-master FOLDER                the master
//   small-master --receiver FOLDER     locks FOLDER/lock and answers connections to FOLDER/s; does
//                                      not end while FOLDER/hold exists
//   small-master --job NUMBER FOLDER   runs a job, whose behavior depends on NUMBER:
//                                      below 100: ends immediately
//                                      13: exits with code 1
//                                      14: is killed by SIGSEGV
//                                      60 to 69: pauses until FOLDER/wake exists
//                                      70: requests to run again in a second
//                                      71: requests job 7
//                                      from 100: ends when FOLDER/go exists
//                                      from 200: also ignores SIGTERM
//
// If FOLDER/itself exists, the master requests the jobs 70 and 72 at startup, and the jobs 70, 72
// and 73 every hour.
//
// FOLDER contains two FIFOs. The worker reads job numbers from `asks`, one byte each, and requests
// these jobs. Each process writes reports to `words`, as lines of the form "LETTER NUMBER PID".
// FOLDER/receiver is the program of the receiver, and FOLDER/log is the log.
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>
#include <csignal>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "quarry/base/log.h"
#include "quarry/master/master.h"

namespace {

using namespace quarry;
using namespace quarry::master;

std::string folder;
volatile sig_atomic_t is_over = 0;

void say(char what, int number = 0) {
  const std::string word = fmt::format("{} {} {}\n", what, number, ::getpid());
  // Without O_NONBLOCK, open() would wait for a reader after the end of the test.
  const base::Fd words(::open((folder + "/words").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  if (::write(words.get(), word.data(), word.size()) < 0) ::_exit(1);
}

void end_on(int signal) {
  struct sigaction action {};
  action.sa_handler = [](int) { is_over = 1; };
  ::sigaction(signal, &action, nullptr);
}

/// Returns true if a listening socket was passed as described in sd_listen_fds(3).
bool has_listener() {
  const char* pid = std::getenv("LISTEN_PID");
  const char* count = std::getenv("LISTEN_FDS");
  int is_listening = 0;
  socklen_t size = sizeof is_listening;
  return pid != nullptr && std::to_string(::getpid()) == pid && count != nullptr &&
         std::string(count) == "1" &&
         ::getsockopt(3, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &size) == 0 && is_listening == 1;
}

/// Returns true if no signal is blocked and no descriptor above LAST was inherited.
bool is_clean(int last) {
  sigset_t held;
  ::sigprocmask(SIG_SETMASK, nullptr, &held);
  for (const int number : {SIGTERM, SIGCHLD, SIGUSR1, SIGUSR2, SIGHUP, SIGPIPE}) {
    if (::sigismember(&held, number) != 0) return false;
  }
  for (int fd = last + 1; fd < 256; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) return false;
  }
  return true;
}

int receive() {
  const bool is_ready = has_listener() && is_clean(3);
  end_on(SIGTERM);
  const base::Fd lock(::open((folder + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const bool is_alone = ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0;
  say(is_alone && is_ready ? 'r' : '!');
  while (is_over == 0) {
    const base::Fd client(::accept(3, nullptr, nullptr));
    if (client && ::write(client.get(), "taken\n", 6) != 6) return 1;
    if (!client) ::usleep(1000);  // accept() does not block
  }
  while (::access((folder + "/hold").c_str(), F_OK) == 0) ::usleep(1000);
  say('R');
  return 0;
}

int work(ChildContext& child) {
  end_on(SIGQUIT);
  const base::Fd asks(::open((folder + "/asks").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  say('w');
  for (;;) {
    const bool is_last = is_over != 0;  // pending requests are still read
    std::uint8_t number = 0;
    if (::read(asks.get(), &number, 1) == 1) {
      child.control->send({control::Verb::kBackoffice, number});
    } else if (is_last) {
      break;
    } else {
      ::usleep(1000);
    }
  }
  say('W');
  return 0;
}

/// Pauses like a real job, and continues after the master's answer.
void pause(const control::Channel& channel, int number) {
  channel.send({control::Verb::kPause});
  say('p', number);
  while (::access((folder + "/wake").c_str(), F_OK) != 0) ::usleep(1000);
  channel.send({control::Verb::kResume});
  pollfd answer{channel.fd(), POLLIN, 0};
  control::Message message{};
  ::poll(&answer, 1, -1);
  say(channel.receive(&message) == control::Received::kMessage ? 'g' : '!', number);
}

std::optional<Program> program_for(const std::string& from, std::uint32_t number) {
  if ((from != "pool test" && from != "jobs") || number == 50) return std::nullopt;
  return Program{"/proc/self/exe", {"small-master", "--job", std::to_string(number), folder}};
}

int begin_master(int argc, char** argv) {
  base::LogOptions log{.target = base::LogTarget::kFile, .path = folder + "/log"};
  log.level = base::LogLevel::kAlert;
  if (!base::open_log(log)) return 1;
  auto handover = take_handover();
  if (!handover) return 1;
  std::vector<InheritedSocket> inherited;
  Reload reload;
  if (*handover) {
    reload.generation = (**handover).generation;
    reload.notes = std::move((**handover).notes);
    reload.previous_children = std::move((**handover).previous_children);
    reload.boards = std::move((**handover).boards);
    inherited = std::move((**handover).sockets);
  }
  reload.program = "/proc/self/exe";
  reload.arguments.assign(argv, argv + argc);

  std::vector<Service> services(3);
  services[0].name = "pool test";
  services[0].run = work;
  services[1].name = "jobs";
  services[1].kind = ServiceKind::kJob;
  services[1].on_request = OnRequest{.verb = control::Verb::kBackoffice,
                                     .program_for = program_for,
                                     .from = {"pool test", "jobs"},
                                     .max_paused = 3};
  if (::access((folder + "/itself").c_str(), F_OK) == 0) {
    constexpr std::chrono::hours kLong{1};
    services[1].on_request->of_itself = {{.number = 70, .every = kLong, .at_start = true},
                                         {.number = 72, .every = kLong, .at_start = true},
                                         {.number = 73, .every = kLong}};
  }
  services[1].processes.max_children = 2;
  services[1].starts_alone = true;
  services[1].longest_run = std::chrono::seconds(2);
  services[2].name = "receiver";
  services[2].kind = ServiceKind::kReceiver;
  services[2].program = Program{folder + "/receiver", {"small-master", "--receiver", folder}};
  services[2].starts_alone = true;
  if (!*handover) {
    std::filesystem::create_symlink(std::filesystem::read_symlink("/proc/self/exe"),
                                    folder + "/receiver");
  }
  auto listener = Listener::open(*base::SocketAddress::parse(folder + "/s"), {}, &inherited);
  if (!listener) return 1;
  services[2].listener = std::move(*listener);
  inherited.clear();
  GlobalConfig global;
  global.pid_file = folder + "/pid";
  global.emergency_restart_threshold = 2;
  global.emergency_restart_interval = std::chrono::seconds(60);
  return quarry::master::run_master(global, std::move(services), std::move(reload)) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) return 2;
  if (words.back() == "--test") return 0;
  folder = words.back();
  if (words.front() == "--receiver") return receive();
  if (words.front() != "--job") return begin_master(argc, argv);
  const int number = std::stoi(words.at(1));
  if (number >= 200) ::signal(SIGTERM, SIG_IGN);
  const auto channel = control::Channel::of_standard_input();
  say(is_clean(2) || channel.fd() == 3 ? 'j' : '!', number);
  if (number >= 60 && number < 70) pause(channel, number);
  if (number == 70) channel.send({control::Verb::kAgain, 1});
  if (number == 71) channel.send({control::Verb::kBackoffice, 7});
  while (number >= 100 && ::access((folder + "/go").c_str(), F_OK) != 0) ::usleep(1000);
  say('J', number);
  if (number == 14) ::raise(SIGSEGV);
  return number == 13 ? 1 : 0;
}
