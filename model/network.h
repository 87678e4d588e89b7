// The networks with their weights, without LibTorch's headers.

#ifndef MALLOCMUZERO_MODEL_NETWORK_H_
#define MALLOCMUZERO_MODEL_NETWORK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "mallocmuzero/v1/network.pb.h"
#include "model/latent_model.h"
#include "model/tensors.h"

namespace mallocmuzero {

class MuZeroNetImpl;  // model/modules.h

// The precision of the dynamics and prediction networks. The representation is always float32: it
// is a small part of a search, and its inputs differ in digits that bfloat16 does not have.
enum class Precision : uint8_t { kFloat32, kBfloat16 };

enum class Device : uint8_t { kCpu, kCuda };

// "fp32" or "bf16"; "cpu" or "cuda". InvalidArgument for others.
absl::StatusOr<Precision> ParsePrecision(absl::string_view text);
absl::StatusOr<Device> ParseDevice(absl::string_view text);

// How a network is evaluated.
struct EvaluationOptions {
  Precision precision = Precision::kFloat32;
  Device device = Device::kCpu;
};

// Lets LibTorch use that many threads (1 or more) in calls from the calling thread. OpenBLAS has
// only one setting for the process, so matrix products of all threads change too.
void SetComputeThreads(int threads);

// Lets malloc keep freed memory, for the whole process. Otherwise the buffers of each batch go back
// to the kernel, which takes as long as the arithmetic. A program that evaluates networks calls it
// once.
void KeepFreedMemory();

// Whether there is a CUDA device that LibTorch can use.
bool HasCuda();

// InvalidArgument if this machine does not have the device. The message begins with "device: ".
absl::Status CheckDevice(Device device);

// A copy of the weights at the time when it was made, ready to be evaluated. Immutable: any number
// of threads may use it at the same time, each with latent models of its own.
class NetworkSnapshot {
 public:
  struct Weights;  // network_snapshot.cc

  explicit NetworkSnapshot(std::unique_ptr<const Weights> weights);
  ~NetworkSnapshot();
  NetworkSnapshot(const NetworkSnapshot&) = delete;
  NetworkSnapshot& operator=(const NetworkSnapshot&) = delete;

  const v1::NetworkConfig& config() const;

  // A model with room for `slots` latent states (1 or more): slots x latent floats, or half of that
  // in bfloat16. It keeps the weights alive. ResourceExhausted if memory is short.
  static absl::StatusOr<std::unique_ptr<LatentModel>> MakeLatentModel(
      const std::shared_ptr<const NetworkSnapshot>& snapshot, uint32_t slots);

  // The policy's logits [batch, actions] and the values [batch] of observations
  // [batch, observation_size], without a search. Errors are those of OnDevice.
  absl::Status Evaluate(absl::Span<const float> observations, absl::Span<float> values,
                        absl::Span<float> logits) const;

  const Weights& weights() const { return *weights_; }

 private:
  std::unique_ptr<const Weights> weights_;
};

// The weights that a learner trains. Thread-compatible: while one thread trains the module or calls
// CopyWeightsFrom or ImportWeights, no other thread may use the network.
class Network {
 public:
  // Fresh weights: a uniform policy, values and rewards 0. Equal seeds give equal weights.
  // InvalidArgument if the config is not valid.
  static absl::StatusOr<std::unique_ptr<Network>> Create(const v1::NetworkConfig& config,
                                                         uint64_t seed);

  const v1::NetworkConfig& config() const { return config_; }

  // For the learner, which includes model/modules.h.
  const std::shared_ptr<MuZeroNetImpl>& module() const { return module_; }

  uint64_t ParameterCount() const;

  // Adds a head for the consistency of latent states to the module, with weights from the network's
  // seed, if it has none yet. Only a learner needs it; snapshots do not have it.
  void AddConsistencyHead();

  // A snapshot of the present weights. InvalidArgument if this machine does not have the device.
  absl::StatusOr<std::shared_ptr<const NetworkSnapshot>> Snapshot(
      const EvaluationOptions& options) const;

  // A snapshot with a latent model over it, for callers that need only one model.
  absl::StatusOr<std::unique_ptr<LatentModel>> MakeLatentModel(
      uint32_t slots, const EvaluationOptions& options) const;

  // InvalidArgument if the other network has another config. A consistency head is copied if both
  // networks have one.
  absl::Status CopyWeightsFrom(const Network& other);

  // Copies of all weights, with their names.
  std::vector<NamedTensor> ExportWeights() const;

  // InvalidArgument, naming the tensor and what is expected, if a tensor is missing, not wanted or
  // of another shape; then nothing is changed. Weights of a consistency head may be present or
  // missing, whether the network has such a head or not.
  absl::Status ImportWeights(absl::Span<const NamedTensor> weights);

 private:
  Network(const v1::NetworkConfig& config, uint64_t seed);

  v1::NetworkConfig config_;
  uint64_t seed_;
  std::shared_ptr<MuZeroNetImpl> module_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_MODEL_NETWORK_H_
