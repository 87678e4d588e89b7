// The earlier best mappings of a program, so that a run's history can be looked at.

#ifndef MALLOCMUZERO_LEARNER_BEST_HISTORY_H_
#define MALLOCMUZERO_LEARNER_BEST_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "mallocmuzero/v1/mapping.pb.h"

namespace mallocmuzero {

// One file of a history. Versions are numbered from 1 in the order in which they were found.
struct BestVersion {
  uint32_t number = 0;
  std::string path;
};

// Most files of a program's history.
inline constexpr size_t kMostBestVersions = 64;

// The versions in a folder, oldest first; none if there is no such folder, or if it cannot be read.
// Other files are ignored.
std::vector<BestVersion> ListBestVersions(const std::string& folder);

// Adds a mapping as the next version: FOLDER/000012.mapping. Makes the folder. Adds nothing if the
// latest version is the same mapping. If there are then more than `most` versions (at least 4),
// every second one of the older three quarters is removed, but not the first. So the old part of
// the history gets coarser but stays complete. Errors name the file.
absl::Status AddBestVersion(const std::string& folder, const v1::Mapping& mapping,
                            size_t most = kMostBestVersions);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_BEST_HISTORY_H_
