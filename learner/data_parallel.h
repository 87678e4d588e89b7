// Several processes that train the same networks together. Without LibTorch's headers.

#ifndef MALLOCMUZERO_LEARNER_DATA_PARALLEL_H_
#define MALLOCMUZERO_LEARNER_DATA_PARALLEL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "model/network.h"

namespace mallocmuzero {

struct DataParallelOptions {
  uint32_t rank = 0;       // below `processes`
  uint32_t processes = 1;  // 2 or more

  // HOST:PORT at which process 0 waits for the others. LibTorch has neither encryption nor tokens:
  // use this port, and the ports that processes open to each other, only in closed networks.
  std::string address;

  // Time limits for Connect, and for every later call. Gloo of LibTorch 1.13 limits later calls by
  // meeting_timeout.
  absl::Duration meeting_timeout = absl::Seconds(60);
  absl::Duration timeout = absl::Seconds(60);

  // kCuda uses NCCL if LibTorch was built with it. Otherwise Gloo is used.
  Device device = Device::kCpu;

  // The DeviceId of `device`. Two processes must not have the same one, unless it is empty.
  std::string device_id;

  // Called at the begin of each call that waits for the other processes, if it is not null.
  std::function<void()> on_call;
};

// Uses c10d of torch.distributed. All processes must make the same calls in the same order; each
// call waits for the others. A call returns Unavailable if a process is gone or does not come in
// time. Then this object cannot be used any more, and the processes must Connect again. Not
// thread-safe.
class DataParallel {
 public:
  // InvalidArgument if the options are out of range, two processes have the same device, or the
  // variable GLOO_SOCKET_IFNAME names no network interface; Unavailable if the other processes do
  // not come.
  static absl::StatusOr<std::unique_ptr<DataParallel>> Connect(const DataParallelOptions& options);

  // The name of the GPU that this process computes on, which is unique in the world; "" for the
  // CPU.
  static std::string DeviceId(Device device);

  // Whether processes that have lost one cannot meet again and must be started anew. NCCL may leave
  // the GPU in a state that only a new process mends.
  static bool MustRestart(Device device);

  ~DataParallel();
  DataParallel(const DataParallel&) = delete;
  DataParallel& operator=(const DataParallel&) = delete;

  // Sets the gradients of all parameters, and `numbers`, to their means over the processes. After
  // an error the gradients are undefined.
  absl::Status Average(Network& network, absl::Span<double> numbers);

  // Sets each number to its maximum over the processes.
  absl::Status Maximum(absl::Span<double> numbers);

  // Sets `bytes` to those of process 0.
  absl::Status Broadcast(std::string& bytes);

 private:
  struct Group;  // data_parallel.cc

  DataParallel(const DataParallelOptions& options, std::unique_ptr<Group> group);

  DataParallelOptions options_;
  std::unique_ptr<Group> group_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_DATA_PARALLEL_H_
