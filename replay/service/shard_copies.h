// The copies of a shard's data folder, which lie beside it.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_SHARD_COPIES_H_
#define MALLOCMUZERO_REPLAY_SERVICE_SHARD_COPIES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace mallocmuzero {

// How much of the copies is kept. The newest copy is always kept.
struct CopyLimits {
  uint64_t copies = UINT64_MAX;

  // Bytes that only copies hold. Files that the data folder also has take no room of their own.
  uint64_t bytes = UINT64_MAX;
};

// The path of a copy of `folder` that is made now: FOLDER.checkpoint-TIME. The names of later
// copies sort after those of earlier ones.
std::string NewCopyPath(const std::string& folder);

// The name that the copy `path` has until it is complete. An incomplete copy would open as a shard
// that has lost items, so only a complete one gets its final name.
std::string UnfinishedCopyPath(const std::string& path);

// Gives a complete copy, which the disk has, the name `path` and makes the name survive a power
// cut.
absl::Status FinishCopy(const std::string& path);

// Removes the oldest copies of `folder` until the others are within the limits. Returns the paths
// of the removed copies. A copy that a shard has opened as its own data counts as no copy. An
// interruption leaves each copy complete or under a name that no copy has. `newest` is the path of
// the newest copy, whose name may be that of an older one after the clock was set back.
std::vector<std::string> RemoveOldCopies(const std::string& folder, const CopyLimits& limits,
                                         const std::string& newest);

// Removes what interrupted calls have left: incomplete copies of `folder`. No other thread may make
// a copy.
void RemoveUnfinishedCopies(const std::string& folder);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_SHARD_COPIES_H_
