// Tensors as checkpoints store them, without LibTorch.

#ifndef MALLOCMUZERO_MODEL_TENSORS_H_
#define MALLOCMUZERO_MODEL_TENSORS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "mallocmuzero/v1/network.pb.h"

namespace mallocmuzero {

struct NamedTensor {
  using Type = v1::CheckpointHeader::Tensor::Type;

  std::string name;
  std::vector<int64_t> shape;
  Type type = v1::CheckpointHeader::Tensor::TYPE_FLOAT32;
  std::string bytes;  // little-endian, the last dimension fastest
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_MODEL_TENSORS_H_
