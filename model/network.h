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

// Of the dynamics and prediction networks. The representation is always float32: it is a small part
// of a search, and its inputs differ in digits that bfloat16 does not have.
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

// Lets LibTorch use that many threads (1 or more) in calls from the calling thread and, as OpenBLAS
// knows no other way, in matrix products of all threads.
void SetComputeThreads(int threads);

// Lets malloc keep what is freed, for the whole process. Else the buffers of a batch go back to the
// kernel after each, which takes as long as the arithmetic. For programs that evaluate networks,
// once.
void KeepFreedMemory();

// Whether there is a CUDA device that LibTorch can use.
bool HasCuda();

// The weights as they were when it was made, ready to be evaluated. Immutable: any number of
// threads may use it at once, each with latent models of its own.
class NetworkSnapshot {
 public:
  struct Weights;  // network_snapshot.cc

  explicit NetworkSnapshot(std::unique_ptr<const Weights> weights);
  ~NetworkSnapshot();
  NetworkSnapshot(const NetworkSnapshot&) = delete;
  NetworkSnapshot& operator=(const NetworkSnapshot&) = delete;

  const v1::NetworkConfig& config() const;

  // Room for `slots` latent states (1 or more): slots x latent floats, or half of that in bfloat16.
  // ResourceExhausted if there is no such memory. It keeps the weights alive by itself.
  static absl::StatusOr<std::unique_ptr<LatentModel>> MakeLatentModel(
      const std::shared_ptr<const NetworkSnapshot>& snapshot, uint32_t slots);

  // The policy's logits [batch, actions] and the values [batch] of observations
  // [batch, observation_size], without a search.
  void Evaluate(absl::Span<const float> observations, absl::Span<float> values,
                absl::Span<float> logits) const;

  const Weights& weights() const { return *weights_; }

 private:
  std::unique_ptr<const Weights> weights_;
};

// The weights that a learner trains. Thread-compatible: whoever trains the module or calls
// CopyWeightsFrom or ImportWeights must be alone.
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

  // Lets the module have a head for the consistency of latent states, fresh from the network's
  // seed, if it has none yet. Only a learner needs it; snapshots do not have it.
  void AddConsistencyHead();

  // To evaluate the weights as they are now. InvalidArgument if the device or the precision is not
  // to be had here.
  absl::StatusOr<std::shared_ptr<const NetworkSnapshot>> Snapshot(
      const EvaluationOptions& options) const;

  // The same with a latent model over it, where one is enough.
  absl::StatusOr<std::unique_ptr<LatentModel>> MakeLatentModel(
      uint32_t slots, const EvaluationOptions& options) const;

  // InvalidArgument if the other one has another config. A consistency head is copied if both have
  // one.
  absl::Status CopyWeightsFrom(const Network& other);

  // All weights by name, copied.
  std::vector<NamedTensor> ExportWeights() const;

  // InvalidArgument, naming the tensor and what would be right, if one is missing, too many or of
  // another shape; then nothing is changed. Those of a consistency head may be there or not,
  // whether the network has one or not.
  absl::Status ImportWeights(absl::Span<const NamedTensor> weights);

 private:
  Network(const v1::NetworkConfig& config, uint64_t seed);

  v1::NetworkConfig config_;
  uint64_t seed_;
  std::shared_ptr<MuZeroNetImpl> module_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_MODEL_NETWORK_H_
