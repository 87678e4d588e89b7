// Checkpoints: the weights of a network and what its training needs to go on, in one file.

#ifndef MALLOCMUZERO_MODEL_CHECKPOINT_H_
#define MALLOCMUZERO_MODEL_CHECKPOINT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/compression.h"
#include "mallocmuzero/v1/network.pb.h"
#include "model/network.h"
#include "model/tensors.h"

namespace mallocmuzero {

// A file is "MMZMODEL", the length of the head in bytes (8 bytes, little-endian), the SHA-256 of
// all that follows (32 bytes), the head (a v1::CheckpointHeader), and the bytes of the tensors.
struct Checkpoint {
  v1::NetworkConfig network;
  std::vector<NamedTensor> weights;
  std::vector<NamedTensor> optimizer;  // empty in an exported checkpoint
  uint64_t step = 0;                   // updates of the weights so far
  std::string training_state;          // the training loop's own; empty in an exported checkpoint
  std::string git_commit;              // of the program that wrote it, 40 digits, or empty
};

// The network's config and weights, copied, and this build's commit.
Checkpoint MakeCheckpoint(const Network& network);

// A network with the checkpoint's weights. InvalidArgument if they do not fit its config. Otherwise
// errors are those of OnDevice.
absl::StatusOr<std::unique_ptr<Network>> MakeNetwork(const Checkpoint& checkpoint);

// Bytes that LoadCheckpoint takes at most. Tests have smaller ones.
struct CheckpointLimits {
  uint64_t head = uint64_t{1} << 30;  // protobuf takes twice that
  uint64_t file = kMaxFileBytes;
};

// Replaces the file in one step, for this build's observations. Equal checkpoints give equal files.
// OutOfRange, and the file is as it was, if it would be larger than LoadCheckpoint takes.
absl::Status SaveCheckpoint(const std::string& path, const Checkpoint& checkpoint,
                            const CheckpointLimits& limits = {});

// An error of one line that names the file and what would be right: NotFound if there is none,
// InvalidArgument if it is no checkpoint, cut short, damaged, of another version of the format or
// of the observations, for other actions, or has no valid config. The tensors' shapes are checked
// by MakeNetwork.
absl::StatusOr<Checkpoint> LoadCheckpoint(const std::string& path);

// Converts to the contents of such a file and back. `name` is the name of the file in messages.
std::string SerializeCheckpoint(const Checkpoint& checkpoint);
absl::StatusOr<Checkpoint> ParseCheckpoint(absl::string_view bytes, const std::string& name);

// LoadCheckpoint and MakeNetwork; errors name the file.
absl::StatusOr<std::unique_ptr<Network>> LoadNetwork(const std::string& path);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_MODEL_CHECKPOINT_H_
