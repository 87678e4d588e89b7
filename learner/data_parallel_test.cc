#include "learner/data_parallel.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/child_process.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "learner/learner.h"
#include "learner/testing/small_learner.h"
#include "model/torch_version.h"
#include "rpc/testing/free_port.h"
#include "rpc/testing/tcp_socket.h"

extern char** environ;  // NOLINT: the C library's

namespace mallocmuzero {
namespace {

using testing::FreeAddress;
using ::testing::HasSubstr;
using testing::MakeSmallLearner;
using ::testing::Not;
using testing::SmallLearner;
using testing::TcpSocket;
using testing::WorstDifference;

constexpr char kAddressVariable[] = "DATA_PARALLEL_TEST_ADDRESS";
constexpr char kInterfaceVariable[] = "GLOO_SOCKET_IFNAME";
constexpr size_t kRows = 16;
constexpr int kUpdates = 5;

// Starts another process that runs one of the tests DataParallelPeer below. These are the code of
// the second process and no tests by themselves.
pid_t StartPeer(const std::string& test, const std::string& address) {
  setenv(kAddressVariable, address.c_str(), 1);
  std::string arguments[] = {"data_parallel_test_peer",
                             absl::StrCat("--gtest_filter=DataParallelPeer.DISABLED_", test),
                             "--gtest_also_run_disabled_tests"};
  char* argv[] = {arguments[0].data(), arguments[1].data(), arguments[2].data(), nullptr};
  pid_t pid = 0;
  EXPECT_EQ(posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, argv, environ), 0);
  return pid;
}

int ExitStatus(pid_t pid) {
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return status;
}

absl::StatusOr<std::unique_ptr<DataParallel>> Connect(uint32_t rank, const std::string& address,
                                                      Device device = Device::kCpu,
                                                      const std::string& device_id = "") {
  return DataParallel::Connect({.rank = rank,
                                .processes = 2,
                                .address = address,
                                .timeout = absl::Minutes(2),
                                .device = device,
                                .device_id = device_id});
}

// Connects over NCCL. Two processes can share the GPU of a test because NCCL takes them for
// processes of two machines.
absl::StatusOr<std::unique_ptr<DataParallel>> ConnectOverNccl(uint32_t rank,
                                                              const std::string& address) {
  setenv("NCCL_HOSTID", absl::StrCat("machine-", rank).c_str(), 1);
  setenv("NCCL_SOCKET_IFNAME", "lo", 1);
  return Connect(rank, address, Device::kCuda, DataParallel::DeviceId(Device::kCuda));
}

v1::LearnerOptions Options() {
  v1::LearnerOptions options = testing::SmallOptions();
  options.set_learning_rate(1e-3F);
  options.set_warmup_updates(0);
  // Smaller than the gradients' norm, so that the result is right only if the joint gradient is
  // clipped.
  options.set_max_gradient_norm(0.5F);
  options.set_consistency_weight(0.5F);
  return options;
}

// Rows of random numbers with random weights.
UnrollBatch RandomBatch(uint64_t seed) {
  UnrollBatch batch;
  batch.Resize(2 * kRows, 2, /*with_next=*/true);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> unit(-1, 1);
  for (float& x : batch.observations) x = unit(random);
  for (float& x : batch.next_observations) x = unit(random);
  for (float& x : batch.reached) x = unit(random) > -0.5F ? 1.0F : 0.0F;
  for (float& x : batch.values) x = unit(random);
  for (float& x : batch.rewards) x = unit(random);
  for (float& x : batch.weights) x = 0.5F + 0.5F * unit(random);
  for (size_t i = 0; i < batch.policies.size(); i += 3) batch.policies[i + random() % 3] = 1;
  for (int64_t& action : batch.actions) action = random() % 3;
  return batch;
}

// The updates of process `rank`, which trains on its half of each batch.
std::vector<UpdateResult> TrainHalf(uint32_t rank, Learner& learner, DataParallel& processes) {
  std::vector<UpdateResult> results;
  for (int i = 0; i < kUpdates; ++i) {
    absl::StatusOr<UpdateResult> result =
        learner.Update(RandomBatch(i), rank * kRows, kRows, &processes);
    EXPECT_TRUE(result.ok()) << result.status();
    results.push_back(result.value_or(UpdateResult()));
  }
  return results;
}

using Connected = absl::StatusOr<std::unique_ptr<DataParallel>>;

void TrainAsPeer(const Connected& processes, Device device) {
  ASSERT_TRUE(processes.ok()) << processes.status();
  const SmallLearner trained = MakeSmallLearner(Options(), device);
  TrainHalf(1, *trained.learner, **processes);
  std::string state;
  ASSERT_TRUE((*processes)->Broadcast(state).ok());
  EXPECT_EQ(state, std::string(100'000, 'x'));
  double numbers[] = {2, -7};
  ASSERT_TRUE((*processes)->Maximum(absl::MakeSpan(numbers)).ok());
  EXPECT_THAT(numbers, ::testing::ElementsAre(2, -3));
}

void SleepAsPeer(const Connected& processes) {
  ASSERT_TRUE(processes.ok()) << processes.status();
  double number = 1;
  ASSERT_TRUE((*processes)->Maximum(absl::MakeSpan(&number, 1)).ok());
  pause();
}

TEST(DataParallelPeer, DISABLED_Trains) {
  TrainAsPeer(Connect(1, std::getenv(kAddressVariable)), Device::kCpu);
}

TEST(DataParallelPeer, DISABLED_TrainsOverNccl) {
  TrainAsPeer(ConnectOverNccl(1, std::getenv(kAddressVariable)), Device::kCuda);
}

TEST(DataParallelPeer, DISABLED_Sleeps) { SleepAsPeer(Connect(1, std::getenv(kAddressVariable))); }

TEST(DataParallelPeer, DISABLED_SleepsOverNccl) {
  SleepAsPeer(ConnectOverNccl(1, std::getenv(kAddressVariable)));
}

TEST(DataParallelPeer, DISABLED_HasTheDeviceOfProcess0) {
  const Connected processes = Connect(1, std::getenv(kAddressVariable), Device::kCpu, "GPU-5");
  _exit(absl::IsInvalidArgument(processes.status()) ? 0 : 1);
}

TEST(DataParallelPeer, DISABLED_MeetsAProcessThatIsLost) {
  const auto processes = Connect(1, std::getenv(kAddressVariable));
  _exit(processes.ok() ? 2 : 3);
}

// This process and `peer`, which runs TrainAsPeer, against one process with all rows on the CPU.
// Losses may differ by `loss_error` and weights by `weight_error`.
void ExpectTheUpdatesOfTheJointBatch(const Connected& processes, pid_t peer, Device device,
                                     double loss_error, double weight_error) {
  ASSERT_TRUE(processes.ok()) << processes.status();
  const SmallLearner half = MakeSmallLearner(Options(), device);
  const std::vector<UpdateResult> results = TrainHalf(0, *half.learner, **processes);

  const SmallLearner joint = MakeSmallLearner(Options());
  for (int i = 0; i < kUpdates; ++i) {
    const UpdateResult expected = *joint.learner->Update(RandomBatch(i), 0, 2 * kRows);
    EXPECT_GT(expected.gradient_norm, Options().max_gradient_norm());
    EXPECT_NEAR(results[i].gradient_norm, expected.gradient_norm, loss_error);
    EXPECT_NEAR(results[i].total_loss, expected.total_loss, loss_error);
    EXPECT_NEAR(results[i].policy_loss, expected.policy_loss, loss_error);
    EXPECT_NEAR(results[i].consistency_loss.value(), expected.consistency_loss.value(), loss_error);
    EXPECT_EQ(results[i].value_errors.size(), kRows);
  }
  EXPECT_LT(WorstDifference(half, joint), weight_error);

  std::string state(100'000, 'x');
  EXPECT_TRUE((*processes)->Broadcast(state).ok());
  double numbers[] = {1, -3};
  EXPECT_TRUE((*processes)->Maximum(absl::MakeSpan(numbers)).ok());
  EXPECT_THAT(numbers, ::testing::ElementsAre(2, -3));
  EXPECT_EQ(ExitStatus(peer), 0);
}

TEST(DataParallel, TwoProcessesMakeTheUpdateOfTheJointBatch) {
  const std::string address = FreeAddress();
  const pid_t peer = StartPeer("Trains", address);
  ExpectTheUpdatesOfTheJointBatch(Connect(0, address), peer, Device::kCpu, 1e-4, 1e-5);
}

TEST(DataParallel, TwoProcessesOnAGpuMakeTheUpdateOfTheJointBatch) {
  if (!HasCuda()) GTEST_SKIP() << "LibTorch finds no CUDA device here";
  const std::string address = FreeAddress();
  const pid_t peer = StartPeer("TrainsOverNccl", address);
  // AdamW moves a weight by up to the learning rate for a gradient of any size.
  ExpectTheUpdatesOfTheJointBatch(ConnectOverNccl(0, address), peer, Device::kCuda, 1e-3,
                                  kUpdates * Options().learning_rate());
}

// This process loses `peer`, which runs SleepAsPeer, in an update.
void ExpectThatALossIsAnError(const Connected& processes, pid_t peer, Device device) {
  ASSERT_TRUE(processes.ok()) << processes.status();
  double number = 0;
  ASSERT_TRUE((*processes)->Maximum(absl::MakeSpan(&number, 1)).ok());
  EXPECT_EQ(number, 1);
  kill(peer, SIGKILL);
  EXPECT_EQ(ExitStatus(peer), SIGKILL);
  const SmallLearner trained = MakeSmallLearner(Options(), device);
  const absl::Time start = absl::Now();
  const absl::Status lost =
      trained.learner->Update(RandomBatch(0), 0, kRows, processes->get()).status();
  EXPECT_TRUE(absl::IsUnavailable(lost)) << lost;
  EXPECT_LT(absl::Now() - start, absl::Minutes(1));  // the loss is detected before the timeout
  EXPECT_EQ(trained.learner->step(), 0);
}

TEST(DataParallel, ALostProcessIsAnErrorAndTheNextOneIsWelcome) {
  const std::string address = FreeAddress();
  for (int life = 0; life < 2; ++life) {
    const pid_t peer = StartPeer("Sleeps", address);
    ExpectThatALossIsAnError(Connect(0, address), peer, Device::kCpu);
  }
}

TEST(DataParallel, ALostProcessOnAGpuIsAnError) {
  if (!HasCuda()) GTEST_SKIP() << "LibTorch finds no CUDA device here";
  const std::string address = FreeAddress();
  const pid_t peer = StartPeer("SleepsOverNccl", address);
  ExpectThatALossIsAnError(ConnectOverNccl(0, address), peer, Device::kCuda);
}

TEST(DataParallel, NamesTwoProcessesThatHaveOneDevice) {
  const std::string address = FreeAddress();
  const pid_t peer = StartPeer("HasTheDeviceOfProcess0", address);
  const Connected processes = Connect(0, address, Device::kCpu, "GPU-5");
  EXPECT_EQ(processes.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(processes.status().message(),
            "learner.devices: processes 0 and 1 both have the device GPU-5, a device of its own "
            "expected for each");
  EXPECT_EQ(ExitStatus(peer), 0);
}

TEST(DataParallel, ProcessesWithDevicesOfTheirOwnMeet) {
  const std::string address = FreeAddress();
  const pid_t peer = StartPeer("HasTheDeviceOfProcess0", address);
  const Connected processes = Connect(0, address, Device::kCpu, "GPU-4");
  EXPECT_TRUE(processes.ok()) << processes.status();
  EXPECT_EQ(ExitStatus(peer), 1 << 8);
}

#if !MALLOCMUZERO_TORCH_AT_LEAST(2, 0)  // LibTorch 2 has no thread that waits for messages.
// Closes a connection so that its peer gets an error, as after kill -9 with unread messages.
void Reset(int connection) {
  const linger at_once = {.l_onoff = 1, .l_linger = 0};
  EXPECT_EQ(setsockopt(connection, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
  close(connection);
}

TEST(DataParallel, AProcessThatLosesProcess0WhileTheyMeetEndsWithOneLine) {
  // Stands for process 0. The first connection of a process is for its calls, and the second one is
  // for the thread that waits for messages.
  TcpSocket server;
  ASSERT_TRUE(server.Bind());
  ASSERT_EQ(listen(server.fd(), 2), 0);
  setenv(kAddressVariable, server.address().c_str(), 1);
  const auto peer =
      ChildProcess::Start({"/proc/self/exe", "--gtest_also_run_disabled_tests",
                           "--gtest_filter=DataParallelPeer.DISABLED_MeetsAProcessThatIsLost"});
  ASSERT_TRUE(peer.ok()) << peer.status();
  const int calls = accept(server.fd(), nullptr, nullptr);
  const int messages = accept(server.fd(), nullptr, nullptr);
  pollfd call = {.fd = calls, .events = POLLIN};
  ASSERT_EQ(poll(&call, 1, 60'000), 1);
  Reset(messages);
  pollfd end = {.fd = (*peer)->exit_fd(), .events = POLLIN};
  ASSERT_EQ(poll(&end, 1, 60'000), 1);
  std::string how;
  ASSERT_TRUE((*peer)->HasEnded(how));
  EXPECT_EQ(how, "exited with code 1");
  EXPECT_THAT((*peer)->ReadOutput(),
              HasSubstr("E learner: lost process 0 while the processes met (Connection reset by "
                        "peer); this process must start again\n"));
  close(calls);
}
#endif

// A process and its peer meet at the address and have a maximum together.
void ExpectThatTwoMeet(const std::string& address) {
  const pid_t peer = StartPeer("Sleeps", address);
  const auto processes = Connect(0, address);
  EXPECT_TRUE(processes.ok()) << processes.status();
  double number = 0;
  if (processes.ok()) {
    EXPECT_TRUE((*processes)->Maximum(absl::MakeSpan(&number, 1)).ok());
  }
  EXPECT_EQ(number, 1);
  kill(peer, SIGKILL);
  EXPECT_EQ(ExitStatus(peer), SIGKILL);
}

TEST(DataParallel, MeetsAtAnIpv6Address) {
  // A port that is free for IPv4 is normally free for IPv6 too.
  ExpectThatTwoMeet(absl::StrReplaceAll(FreeAddress(), {{"127.0.0.1", "[::1]"}}));
}

TEST(DataParallel, MeetsOnTheNamedInterface) {
  setenv(kInterfaceVariable, "lo", 1);
  ExpectThatTwoMeet(FreeAddress());
  unsetenv(kInterfaceVariable);
}

TEST(DataParallel, NamesAnInterfaceThatIsMissing) {
  setenv(kInterfaceVariable, "no-such-one", 1);
  const absl::Status status = Connect(0, FreeAddress()).status();
  unsetenv(kInterfaceVariable);
  EXPECT_EQ(status,
            absl::InvalidArgumentError("GLOO_SOCKET_IFNAME: no network interface 'no-such-one'"));
}

TEST(DataParallel, NobodyComes) {
  for (const uint32_t rank : {0, 1}) {
    ::testing::internal::CaptureStderr();
    const absl::Time start = absl::Now();
    const auto processes = DataParallel::Connect({.rank = rank,
                                                  .processes = 2,
                                                  .address = FreeAddress(),
                                                  .meeting_timeout = absl::Seconds(1)});
    EXPECT_TRUE(absl::IsUnavailable(processes.status())) << processes.status();
    EXPECT_LT(absl::Now() - start, absl::Minutes(1));  // LibTorch's own limit is five minutes
    // The error says it. LibTorch 2 would log the frames of its stack, too.
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), Not(HasSubstr("frame #")));
  }
}

TEST(DataParallel, SaysWhichOptionIsWrong) {
  EXPECT_THAT(DataParallel::Connect({.processes = 1, .address = "localhost:1"}).status().message(),
              HasSubstr("learner.processes"));
  for (const char* address : {"localhost", "localhost:0", "::1:7500", "[localhost]:7500"}) {
    EXPECT_THAT(DataParallel::Connect({.processes = 2, .address = address}).status().message(),
                HasSubstr("learner.rendezvous_address"));
  }
}

}  // namespace
}  // namespace mallocmuzero
