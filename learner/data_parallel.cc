#include "learner/data_parallel.h"

// These come first: the next headers use their declarations, and clang needs the full definition of
// IValue where other headers only declare it.
#include <ATen/core/ivalue.h>
#include <c10/util/Logging.h>
#include <torch/types.h>

#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#ifdef USE_C10D_NCCL
#include <ATen/cuda/CUDAContext.h>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif

#include <net/if.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "learner/meeting_store.h"
#include "model/modules.h"
#include "model/torch_errors.h"
#include "model/torch_version.h"
#include "rpc/host_port.h"

namespace mallocmuzero {
namespace {

constexpr uint32_t kMaxProcesses = 4096;
constexpr char kInterfaceVariable[] = "GLOO_SOCKET_IFNAME";

// Calls a function that throws LibTorch's exceptions.
absl::Status Guarded(absl::string_view what, const std::function<void()>& call) {
  try {
    call();
    return absl::OkStatus();
  } catch (const std::exception& error) {
    return absl::UnavailableError(
        absl::StrCat("learner processes: ", what, ": ", FirstLine(error)));
  }
}

#ifdef USE_C10D_NCCL
// Makes wait() block until NCCL is done and return an error if a process is lost. Without this,
// wait() returns at once, and a thread of LibTorch aborts the whole process when another one is
// lost. An operator's own setting stays.
void WaitForNccl() {
#if MALLOCMUZERO_TORCH_AT_LEAST(2, 2)
  constexpr char kVariable[] = "TORCH_NCCL_BLOCKING_WAIT";
#else
  constexpr char kVariable[] = "NCCL_BLOCKING_WAIT";
#endif
  setenv(kVariable, "1", /*overwrite=*/0);
}
#endif

// LibTorch's threads log a lost process with a stack trace, and say that they end this process. An
// error tells the loss, so these lines are left out unless TORCH_CPP_LOG_LEVEL asks for them.
void QuietLibTorch() {
#if MALLOCMUZERO_TORCH_AT_LEAST(2, 0) && !defined(C10_USE_GLOG)
  if (std::getenv("TORCH_CPP_LOG_LEVEL") != nullptr) return c10::initLogging();
  constexpr int kFatal = 3;
  FLAGS_caffe2_log_level = kFatal;
#endif
}

// The network interface that an operator names for Gloo, by the variable that LibTorch has for it
// in Python; "" if there is none.
std::string GlooInterface() {
  const char* name = std::getenv(kInterfaceVariable);
  return name == nullptr ? "" : name;
}

absl::Status CheckGlooInterface() {
  const std::string name = GlooInterface();
  if (name.empty() || if_nametoindex(name.c_str()) != 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(kInterfaceVariable, ": no network interface '", name, "'"));
}

// The address that Gloo listens on. By default it uses the address of the machine's name, which may
// be a loopback address.
std::shared_ptr<gloo::transport::Device> GlooDevice(const HostPort& rendezvous) {
  const std::string interface = GlooInterface();
  if (!interface.empty()) return c10d::ProcessGroupGloo::createDeviceForInterface(interface);
  return IsLoopback(rendezvous)
             ? c10d::ProcessGroupGloo::createDeviceForHostname(
                   rendezvous.host == "localhost" ? "127.0.0.1" : rendezvous.host)
             : c10d::ProcessGroupGloo::createDefaultDevice();
}

c10::intrusive_ptr<MeetingStore> MakeStore(const DataParallelOptions& options,
                                           const HostPort& address) {
  c10d::TCPStoreOptions store;
  store.port = address.port;
  store.isServer = options.rank == 0;
  store.numWorkers = options.processes;
  // The store's own wait ends late and without an error; the wait of the group does not.
  store.waitWorkers = false;
  store.timeout = absl::ToChronoMilliseconds(options.meeting_timeout);
  return c10::make_intrusive<MeetingStore>(
      c10::make_intrusive<c10d::TCPStore>(address.host, store));
}

// Says which two processes have the same device; empty if each has its own. All processes that have
// a device call it. NCCL would refuse such processes, but without their numbers.
std::string SharedDevice(const DataParallelOptions& options, MeetingStore& store) {
  if (options.device_id.empty()) return "";
  const auto key = [](absl::string_view name, uint32_t rank) {
    return absl::StrCat("device/", name, "/", rank);
  };
  store.set(key("id", options.rank), {options.device_id.begin(), options.device_id.end()});
  std::string shared;
  absl::flat_hash_map<std::string, uint32_t> rank_of;
  std::vector<std::string> all_read;
  for (uint32_t rank = 0; rank < options.processes; ++rank) {
    const std::vector<uint8_t> bytes = store.get(key("id", rank));
    const auto [first, is_new] = rank_of.try_emplace(std::string(bytes.begin(), bytes.end()), rank);
    if (!is_new && shared.empty()) {
      shared = absl::StrCat("learner.devices: processes ", first->second, " and ", rank,
                            " both have the device ", first->first,
                            ", a device of its own expected for each");
    }
    all_read.push_back(key("read", rank));
  }
  // Process 0 serves the store, so it leaves last.
  store.set(key("read", options.rank), {1});
  if (options.rank == 0) store.wait(all_read);
  return shared;
}

}  // namespace

struct DataParallel::Group {
#if MALLOCMUZERO_TORCH_AT_LEAST(2, 0)
  using Backend = c10d::Backend;
#else
  using Backend = c10d::ProcessGroup;
#endif

  // Sets `tensor` to the result of `operation` over the tensors of all processes.
  void Reduce(const torch::Tensor& tensor, c10d::ReduceOp::RedOpType operation) const {
    c10d::AllreduceOptions how;
    how.reduceOp = operation;
    how.timeout = timeout;
    std::vector<torch::Tensor> there = {tensor.to(device)};
    backend->allreduce(there, how)->wait(timeout);
    if (!there[0].is_same(tensor)) tensor.copy_(there[0]);
  }

  // Sets `tensor` to that of process 0.
  void Broadcast(const torch::Tensor& tensor) const {
    std::vector<torch::Tensor> there = {tensor.to(device)};
    c10d::BroadcastOptions how;
    how.timeout = timeout;
    backend->broadcast(there, how)->wait(timeout);
    if (!there[0].is_same(tensor)) tensor.copy_(there[0]);
  }

  // Sets `backend` to one over the store. Waits for the other processes.
  void Join(const DataParallelOptions& options, const HostPort& address) {
    const int rank = options.rank;
    const int size = options.processes;
#ifdef USE_C10D_NCCL
    if (options.device == Device::kCuda) {
      WaitForNccl();
      auto nccl = c10d::ProcessGroupNCCL::Options::create();
      nccl->timeout = timeout;
      backend = c10::make_intrusive<c10d::ProcessGroupNCCL>(store, rank, size, std::move(nccl));
      device = torch::kCUDA;
      return;
    }
#endif
    // This limits the time to connect. LibTorch 1.13 also limits each later call by it, and not by
    // the timeout that the call has.
    auto gloo = c10d::ProcessGroupGloo::Options::create(
        absl::ToChronoMilliseconds(options.meeting_timeout));
    gloo->devices.push_back(GlooDevice(address));
    gloo->threads = 1;
    backend = c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, size, std::move(gloo));
    LeaveStore(options.rank);
  }

  // All processes have met and do not need the store any more. Process 0 serves it and leaves last.
  void LeaveStore(uint32_t rank) const {
    if (rank != 0) store->Leave();
    Reduce(torch::zeros({1}), c10d::ReduceOp::SUM);
    if (rank == 0) store->Leave();
  }

  c10::intrusive_ptr<MeetingStore> store;
  c10::intrusive_ptr<Backend> backend;
  torch::Device device = torch::kCPU;  // of the tensors that it sends
  std::chrono::milliseconds timeout = {};
};

absl::StatusOr<std::unique_ptr<DataParallel>> DataParallel::Connect(
    const DataParallelOptions& options) {
  if (options.processes < 2 || options.processes > kMaxProcesses ||
      options.rank >= options.processes) {
    return absl::InvalidArgumentError(absl::StrCat("learner.processes: process ", options.rank,
                                                   " of ", options.processes,
                                                   ": 2 to 4096 processes, counted from 0, "
                                                   "expected"));
  }
  const std::optional<HostPort> address = ParseHostPort(options.address);
  if (!address.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("learner.rendezvous_address: ", options.address, ": host:port expected"));
  }
  // NCCL has a variable of its own.
  if (!MustRestart(options.device)) MMZ_RETURN_IF_ERROR(CheckGlooInterface());
  QuietLibTorch();
  const MeetingWatch watch;  // outlives a store that is left after an error
  auto group = std::make_unique<Group>();
  group->timeout = absl::ToChronoMilliseconds(options.timeout);
  std::string shared_device;
  MMZ_RETURN_IF_ERROR(Guarded(absl::StrCat("meeting at ", options.address), [&] {
    group->store = MakeStore(options, *address);
    shared_device = SharedDevice(options, *group->store);
    if (shared_device.empty()) group->Join(options, *address);
  }));
  if (!shared_device.empty()) return absl::InvalidArgumentError(shared_device);
  return std::unique_ptr<DataParallel>(new DataParallel(options, std::move(group)));
}

DataParallel::DataParallel(const DataParallelOptions& options, std::unique_ptr<Group> group)
    : options_(options), group_(std::move(group)) {}

DataParallel::~DataParallel() = default;

std::string DataParallel::DeviceId(Device device) {
#ifdef USE_C10D_NCCL
  if (device == Device::kCuda) {
    const auto& uuid = at::cuda::getCurrentDeviceProperties()->uuid;
    // With this variable an operator tells NCCL which machine this is. NCCL then also takes one GPU
    // of two such machines for two.
    const char* machine = std::getenv("NCCL_HOSTID");
    return absl::StrCat("GPU-", absl::BytesToHexString({uuid.bytes, sizeof(uuid.bytes)}),
                        machine == nullptr ? "" : absl::StrCat(" of ", machine));
  }
#endif
  (void)device;
  return "";
}

bool DataParallel::MustRestart(Device device) {
#ifdef USE_C10D_NCCL
  return device == Device::kCuda;
#else
  (void)device;
  return false;
#endif
}

absl::Status DataParallel::Average(Network& network, absl::Span<double> numbers) {
  if (options_.on_call) options_.on_call();
  return Guarded("averaging gradients", [&] {
    const torch::NoGradGuard no_gradients;
    std::vector<torch::Tensor> gradients;
    std::vector<torch::Tensor> flat;
    for (const torch::Tensor& parameter : network.module()->parameters()) {
      if (!parameter.grad().defined()) continue;
      gradients.push_back(parameter.grad());
      flat.push_back(parameter.grad().reshape({-1}));
    }
    const torch::Tensor extra =
        torch::tensor(std::vector<double>(numbers.begin(), numbers.end()), torch::kFloat64);
    if (!flat.empty()) flat.push_back(extra.to(flat[0].options()));
    // One message for all gradients, because latency takes most of the time.
    const torch::Tensor all = flat.empty() ? extra : torch::cat(flat);
    group_->Reduce(all, c10d::ReduceOp::SUM);
    all.div_(static_cast<double>(options_.processes));
    int64_t first = 0;
    for (torch::Tensor& gradient : gradients) {
      gradient.copy_(all.narrow(0, first, gradient.numel()).view_as(gradient));
      first += gradient.numel();
    }
    const torch::Tensor means =
        all.narrow(0, first, std::ssize(numbers)).to(torch::kCPU, torch::kFloat64);
    std::copy_n(means.data_ptr<double>(), numbers.size(), numbers.begin());
  });
}

absl::Status DataParallel::Maximum(absl::Span<double> numbers) {
  if (options_.on_call) options_.on_call();
  return Guarded("agreeing", [&] {
    const torch::Tensor all =
        torch::from_blob(numbers.data(), {std::ssize(numbers)}, torch::kFloat64);
    group_->Reduce(all, c10d::ReduceOp::MAX);
  });
}

absl::Status DataParallel::Broadcast(std::string& bytes) {
  if (options_.on_call) options_.on_call();
  return Guarded("taking over process 0's state", [&] {
    const torch::Tensor size = torch::tensor({std::ssize(bytes)}, torch::kInt64);
    group_->Broadcast(size);
    bytes.resize(size.item<int64_t>());
    if (bytes.empty()) return;
    group_->Broadcast(torch::from_blob(bytes.data(), {std::ssize(bytes)}, torch::kUInt8));
  });
}

}  // namespace mallocmuzero
