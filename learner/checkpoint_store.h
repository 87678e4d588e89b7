// The scored checkpoints that a run keeps beside its latest one.

#ifndef MALLOCMUZERO_LEARNER_CHECKPOINT_STORE_H_
#define MALLOCMUZERO_LEARNER_CHECKPOINT_STORE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "learner/run_directory.h"
#include "mallocmuzero/v1/checkpoint.pb.h"

namespace mallocmuzero {

//   RUN/checkpoints/step-N/checkpoint       weights without optimizer state
//   RUN/checkpoints/step-N/manifest.json    CheckpointManifest
//   RUN/checkpoints/step-N/pinned           exists if an operator has pinned the checkpoint
//   RUN/checkpoints/best                    link to the step-N with the highest score
//
// A folder step-N is complete: it gets its name once its files are on the disk. One process at a
// time may keep, evict and sweep; any process may list and pin.
struct KeptCheckpoint {
  v1::CheckpointManifest manifest;
  std::string folder;
  bool pinned = false;

  std::string path() const { return folder + "/checkpoint"; }
};

// A checkpoint to keep.
struct ScoredCheckpoint {
  v1::CheckpointManifest manifest;
  std::shared_ptr<const std::string> bytes;  // the file
};

// The most checkpoints to keep.
struct CheckpointBounds {
  uint32_t number = 0;
  uint64_t bytes = 0;
};

// All kept checkpoints, sorted by step. Folders whose manifest cannot be read are left out; none if
// the folder of checkpoints cannot be read.
std::vector<KeptCheckpoint> ListCheckpoints(const RunDirectory& directory);

// The one with the highest score, the later one of two with the same; null if there is none.
const KeptCheckpoint* FindBest(absl::Span<const KeptCheckpoint> kept);

// Keeps `bytes`, a checkpoint file of manifest.step, and fills in its SHA-256, size and time. Then
// evicts checkpoints until the rest is within `bounds`: the one whose steps before and after it are
// closest together goes first, so that the rest covers the whole run. Pinned ones and the best one
// stay even if they exceed the bounds. A checkpoint of the same step is replaced unless it is
// pinned. Errors name the file. The checkpoint is kept, and the bounds hold, also if only the link
// `best` cannot be made.
absl::Status KeepCheckpoint(const RunDirectory& directory, v1::CheckpointManifest manifest,
                            absl::string_view bytes, const CheckpointBounds& bounds);

// Pins the checkpoint of a step or releases it. NotFound if the run keeps none of this step.
absl::Status PinCheckpoint(const RunDirectory& directory, uint64_t step, bool pinned);

// Removes what a killed process has left: folders that are not complete or not wholly removed.
void SweepCheckpoints(const RunDirectory& directory);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_CHECKPOINT_STORE_H_
