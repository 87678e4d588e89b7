#include "bench/replay/replay_load.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "base/steady_clock.h"
#include "bench/replay/replay_load_client.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "metrics/process_usage.h"
#include "replay/service/replay_shard.h"
#include "replay/service/storage.h"
#include "rpc/security.h"

namespace mallocmuzero::bench {
namespace {

// How often the first process looks whether it is to stop.
constexpr int kLookMilliseconds = 100;

static_assert(std::is_trivially_copyable_v<ClientResult>);

// The orders that a client process receives.
enum class Order : char { kInsert = 'i', kSample = 's', kQuit = 'q' };

bool SendAll(int socket, const void* data, size_t bytes) {
  return send(socket, data, bytes, MSG_NOSIGNAL) == bytes;
}

bool ReceiveAll(int socket, void* data, size_t bytes) {
  return recv(socket, data, bytes, MSG_WAITALL) == bytes;
}

// As ReceiveAll, in the process that may be stopped. Returns false when it is stopped, or when the
// other end of `server` is closed; -1: no such socket.
bool AwaitAll(const ReplayLoadOptions& options, int socket, int server, void* data, size_t bytes) {
  std::array<pollfd, 2> waits = {{{.fd = socket, .events = POLLIN, .revents = 0},
                                  {.fd = server, .events = POLLIN, .revents = 0}}};
  while (!options.stop()) {
    const int ready = poll(waits.data(), waits.size(), kLookMilliseconds);
    if (waits[0].revents != 0 && ready > 0) return ReceiveAll(socket, data, bytes);
    if (ready > 0 || (ready < 0 && errno != EINTR)) return false;
  }
  return false;
}

// Why AwaitAll was false.
absl::Status HasEnded(const ReplayLoadOptions& options, absl::string_view process) {
  if (options.stop()) return absl::CancelledError("interrupted");
  return absl::UnavailableError(absl::StrCat("the ", process, " process has ended"));
}

// The body of a client process.
int RunClient(int socket, const std::string& address, const ReplayLoadOptions& options,
              uint32_t client) {
  Order order = Order::kQuit;
  while (ReceiveAll(socket, &order, sizeof(order)) && order != Order::kQuit) {
    ClientResult result;
    if (order == Order::kInsert) {
      result = MeasureInserts(address, options.item_bytes, client, options.seconds);
    } else {
      const absl::StatusOr<ClientResult> samples =
          MeasureSamples(address, options.item_bytes, options.seconds);
      if (!samples.ok()) {
        std::fprintf(stderr, "%s\n", samples.status().ToString().c_str());
        return 1;
      }
      result = *samples;
    }
    if (!SendAll(socket, &result, sizeof(result))) return 1;
  }
  return 0;
}

v1::ReplayShard ShardOf(const ReplayLoadOptions& options) {
  v1::ReplayShard config;
  config.set_name("bench");
  config.set_address("127.0.0.1:0");
  config.set_mode(options.mode);
  config.set_data_dir(options.data_dir);
  config.set_eviction(v1::ReplayShard::OLDEST_FIRST);
  config.set_max_positions(options.items);
  config.set_max_bytes(uint64_t{1} << 40);
  config.set_priority_exponent(0.6);
  config.set_remember_evicted_seconds(60);
  config.set_remember_evicted_bytes(uint64_t{1} << 30);
  config.set_copies(1);
  config.set_copy_bytes(uint64_t{1} << 30);
  return config;
}

// Ends the process, and says why, once a shard has taken no inserts for some time: its clients
// would wait for ever.
class ShardWatch {
 public:
  // The shard must outlive it.
  ShardWatch(const ReplayShard& shard, absl::Duration patience)
      : thread_([this, &shard, patience] { Watch(shard, patience); }) {}
  ~ShardWatch() {
    stop_.Notify();
    thread_.join();
  }
  ShardWatch(const ShardWatch&) = delete;
  ShardWatch& operator=(const ShardWatch&) = delete;

 private:
  void Watch(const ReplayShard& shard, absl::Duration patience) {
    absl::Time took = SteadyNow();
    while (!stop_.WaitForNotificationWithTimeout(absl::Milliseconds(kLookMilliseconds))) {
      const absl::Status status = shard.Ready();
      if (status.ok()) took = SteadyNow();
      if (SteadyNow() - took < patience) continue;
      std::fprintf(stderr, "the shard takes no items: %s\n", std::string(status.message()).c_str());
      _exit(1);
    }
  }

  absl::Notification stop_;
  std::thread thread_;
};

// The body of the server process: says its port, then serves until it is told to end.
int RunServer(int socket, const ReplayLoadOptions& options) {
  std::unique_ptr<Storage> storage;  // null: the shard's own
  if (options.open_storage) {
    absl::StatusOr<std::unique_ptr<Storage>> opened = options.open_storage(options.data_dir);
    if (!opened.ok()) {
      std::fprintf(stderr, "%s\n", opened.status().ToString().c_str());
      return 1;
    }
    storage = *std::move(opened);
  }
  absl::StatusOr<std::unique_ptr<ReplayShard>> shard = ReplayShard::Start(
      ShardOf(options), std::make_shared<Security>(), nullptr, std::move(storage));
  if (!shard.ok()) {
    std::fprintf(stderr, "%s\n", shard.status().ToString().c_str());
    return 1;
  }
  const ShardWatch watch(**shard, absl::Seconds(options.patience_seconds));
  std::array<char, 64> address{};
  (*shard)->address().copy(address.data(), address.size() - 1);
  if (!SendAll(socket, address.data(), address.size())) return 1;
  if (options.items > 0) {
    InsertItems((*shard)->address(), options.item_bytes, UINT16_MAX, options.items);
  }
  char byte = 1;
  if (!SendAll(socket, &byte, sizeof(byte))) return 1;
  ReceiveAll(socket, &byte, sizeof(byte));
  return 0;
}

// A child process and the socket to it.
class Child {
 public:
  static absl::StatusOr<std::unique_ptr<Child>> Fork(const std::function<int(int)>& body) {
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
      return absl::UnavailableError("socketpair failed");
    }
    const pid_t pid = fork();
    if (pid < 0) return absl::UnavailableError("fork failed");
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      // The parent notes signals and ends this one.
      for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        if (signal(number, SIG_DFL) == SIG_IGN) signal(number, SIG_IGN);
      }
      close(sockets[0]);
      _exit(body(sockets[1]));
    }
    close(sockets[1]);
    return std::unique_ptr<Child>(new Child(pid, sockets[0]));
  }

  ~Child() {
    close(socket_);
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  int socket() const { return socket_; }

 private:
  Child(pid_t pid, int socket) : pid_(pid), socket_(socket) {}

  const pid_t pid_;
  const int socket_;
};

using Children = std::vector<std::unique_ptr<Child>>;

// Seconds of processor time that the processors we may use were busy.
double BusySeconds() {
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof(allowed), &allowed);
  std::ifstream file("/proc/stat");
  std::string line;
  double ticks = 0;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    absl::string_view number = name;
    int cpu = 0;
    if (!absl::ConsumePrefix(&number, "cpu") || !absl::SimpleAtoi(number, &cpu) ||
        !CPU_ISSET(cpu, &allowed)) {
      continue;
    }
    // user, nice, system, idle, iowait, irq, softirq, steal
    std::array<double, 8> spent{};
    for (double& value : spent) words >> value;
    ticks += spent[0] + spent[1] + spent[2] + spent[5] + spent[6] + spent[7];
  }
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double OtherSeconds(const Child& server, const Children& clients) {
  double seconds = BusySeconds() - CpuSecondsOf(server.pid());
  for (const std::unique_ptr<Child>& client : clients) seconds -= CpuSecondsOf(client->pid());
  return seconds;
}

absl::StatusOr<LoadRate> Measure(const ReplayLoadOptions& options, Order order, const Child& server,
                                 const Children& clients) {
  const double others = OtherSeconds(server, clients);
  const absl::Time start = SteadyNow();
  for (const std::unique_ptr<Child>& client : clients) {
    SendAll(client->socket(), &order, sizeof(order));
  }
  LoadRate rate;
  TimeHistogram times;
  for (const std::unique_ptr<Child>& client : clients) {
    ClientResult result;
    if (!AwaitAll(options, client->socket(), server.socket(), &result, sizeof(result))) {
      return HasEnded(options, "client or server");
    }
    rate.per_second += result.per_second;
    times.Add(result.times);
  }
  rate.p50_ms = times.PercentileMs(0.5);
  rate.p99_ms = times.PercentileMs(0.99);
  rate.other_cores = std::max(0.0, OtherSeconds(server, clients) - others) /
                     absl::ToDoubleSeconds(SteadyNow() - start);
  return rate;
}

}  // namespace

absl::StatusOr<ReplayLoad> MeasureReplayLoad(const ReplayLoadOptions& options) {
  const absl::StatusOr<std::unique_ptr<Child>> server =
      Child::Fork([&](int socket) { return RunServer(socket, options); });
  if (!server.ok()) return server.status();
  std::array<char, 64> address{};
  char filled = 0;
  if (!AwaitAll(options, (*server)->socket(), -1, address.data(), address.size()) ||
      !AwaitAll(options, (*server)->socket(), -1, &filled, sizeof(filled))) {
    return HasEnded(options, "server");
  }
  Children clients;
  for (uint32_t i = 0; i < options.clients; ++i) {
    absl::StatusOr<std::unique_ptr<Child>> client =
        Child::Fork([&](int socket) { return RunClient(socket, address.data(), options, i); });
    if (!client.ok()) return client.status();
    clients.push_back(*std::move(client));
  }
  ReplayLoad load{.batch = BatchOf(options.item_bytes)};
  absl::StatusOr<LoadRate> inserts = Measure(options, Order::kInsert, **server, clients);
  if (!inserts.ok()) return inserts.status();
  load.inserts = *inserts;
  absl::StatusOr<LoadRate> samples = Measure(options, Order::kSample, **server, clients);
  if (!samples.ok()) return samples.status();
  load.samples = *samples;
  load.server_rss_bytes = static_cast<double>(ResidentBytesOf((*server)->pid()));
  return load;
}

}  // namespace mallocmuzero::bench
