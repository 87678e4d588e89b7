// The network that a server plays, and its replacement when there is another checkpoint.

#ifndef MALLOCMUZERO_SERVE_NETWORK_STORE_H_
#define MALLOCMUZERO_SERVE_NETWORK_STORE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "actor/agent.h"
#include "model/network.h"
#include "serve/shared_network.h"

namespace mallocmuzero {

// The checkpoint file that a path names: the file itself, the file `checkpoint` in a folder, or
// checkpoints/latest in the folder of a training run, which may be such a folder. NotFound if there
// is none.
absl::StatusOr<std::string> FindCheckpoint(const std::string& file_or_run);

struct NetworkStoreOptions {
  std::string checkpoint;  // a file, or the folder of a training run
  EvaluationOptions evaluation;
  SharingOptions sharing;
};

// A loaded checkpoint. Immutable; searches that use it keep it alive.
struct LoadedNetwork {
  AgentNetwork network;
  uint64_t step = 0;  // updates of the weights
};

// Thread-safe.
class NetworkStore {
 public:
  // Loads the checkpoint. Errors name the file.
  static absl::StatusOr<std::unique_ptr<NetworkStore>> Open(const NetworkStoreOptions& options);

  // The network of the newest checkpoint that could be loaded.
  std::shared_ptr<const LoadedNetwork> current() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Times that another checkpoint replaced the first one.
  uint64_t reloads() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Looks whether the file is another one than at the last look. If it is, loads it, so that later
  // searches play it, and returns true. After an error the network is as it was, and the same file
  // is not tried again. Only one thread may call this.
  absl::StatusOr<bool> Reload() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Tells versions of a file apart: a checkpoint is replaced by a new file.
  struct FileVersion {
    uint64_t device = 0;
    uint64_t inode = 0;
    int64_t bytes = -1;
    int64_t modified_ns = 0;
    friend bool operator==(const FileVersion&, const FileVersion&) = default;
  };

  explicit NetworkStore(NetworkStoreOptions options) : options_(std::move(options)) {}

  static FileVersion VersionOf(const std::string& path);
  absl::StatusOr<std::shared_ptr<const LoadedNetwork>> Load(const std::string& path) const;

  const NetworkStoreOptions options_;
  FileVersion seen_;  // of the last file that was tried; belongs to the thread that reloads
  mutable absl::Mutex mutex_;
  std::shared_ptr<const LoadedNetwork> current_ ABSL_GUARDED_BY(mutex_);
  uint64_t reloads_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SERVE_NETWORK_STORE_H_
