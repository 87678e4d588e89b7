// The layers of the networks: the one description that the modules are built from, that weights are
// taken out of modules by, and that costs and checkpoints are counted by.

#ifndef MALLOCMUZERO_MODEL_ARCHITECTURE_H_
#define MALLOCMUZERO_MODEL_ARCHITECTURE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "mallocmuzero/v1/network.pb.h"

namespace mallocmuzero {

// A layer that multiplies by a matrix: weight [outputs, inputs] and bias [outputs], called
// <name>.weight and <name>.bias.
struct LinearLayer {
  std::string name;
  uint64_t inputs = 0;
  uint64_t outputs = 0;
  bool has_bias = true;

  // Rows that it is applied to for one latent state.
  uint64_t rows = 1;

  uint64_t Parameters() const { return outputs * (inputs + (has_bias ? 1 : 0)); }
  uint64_t Multiplications() const { return rows * inputs * outputs; }
};

// Which of the networks a layer belongs to: names of its layers begin with that.
inline constexpr absl::string_view kRepresentation = "representation.";
inline constexpr absl::string_view kDynamics = "dynamics.";
inline constexpr absl::string_view kPrediction = "prediction.";

// All layers that a search evaluates, without those of a consistency head. Immutable.
class Architecture {
 public:
  // The config must be valid (ValidateNetworkConfig).
  explicit Architecture(const v1::NetworkConfig& config);

  // In the order of the modules' parameters.
  absl::Span<const LinearLayer> layers() const& { return layers_; }
  absl::Span<const LinearLayer> layers() const&& = delete;  // they are the description's own

  // The layer of that name, which must exist.
  const LinearLayer& Layer(absl::string_view name) const;

  // Multiplications of the attention between queries and accesses, which has no weights.
  uint64_t attention_multiplications() const { return attention_multiplications_; }

  // The sums over the layers of the network whose name is `network`.
  uint64_t Multiplications(absl::string_view network) const;

 private:
  void AddRepresentation(const v1::NetworkConfig& config);
  void AddResidualBlock(const std::string& name, uint64_t inputs, uint64_t width);

  std::vector<LinearLayer> layers_;
  uint64_t attention_multiplications_ = 0;
};

// Floats of the observation that the representation reads beside the picture of the fast memory and
// the window: capacity, bandwidth, decision, the current access, the last actions and accesses, the
// program.
uint32_t PlainFeatures();

// The name of the n-th residual block, of the representation or the dynamics; of the n-th
// convolution along time.
std::string BlockName(size_t n);
std::string MemoryBlockName(size_t n);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_MODEL_ARCHITECTURE_H_
