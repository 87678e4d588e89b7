// The learner's list of the cluster's shards, which outlives its process.

#ifndef MALLOCMUZERO_LEARNER_ROLE_SHARD_BOOK_H_
#define MALLOCMUZERO_LEARNER_ROLE_SHARD_BOOK_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "mallocmuzero/v1/shards.pb.h"

namespace mallocmuzero {

// Thread-safe.
class ShardBook {
 public:
  // Reads run_dir/shards.textproto and brings it up to date with the configuration (Reconcile), or
  // begins with the shards of the configuration. InvalidArgument if the file is damaged; errors
  // name it.
  static absl::StatusOr<std::unique_ptr<ShardBook>> Open(const std::string& run_dir,
                                                         const v1::ClusterConfig& config);

  v1::ShardRoster roster() const;

  // Differences between the file and the configuration, a line each.
  const std::vector<std::string>& notes() const { return notes_; }

  // Makes a change, writes it to the file and returns the new list. If the file cannot be written,
  // the list stays as it was. Other errors are those of replay/client/shard_roster.h.
  absl::StatusOr<v1::ShardRoster> Change(const v1::ChangeShardsRequest& request);

 private:
  ShardBook(std::string path, v1::ShardRoster roster, std::vector<std::string> notes)
      : path_(std::move(path)), notes_(std::move(notes)), roster_(std::move(roster)) {}

  const std::string path_;
  const std::vector<std::string> notes_;
  absl::Mutex changing_;  // held during a change, and before mutex_
  mutable absl::Mutex mutex_;
  v1::ShardRoster roster_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_ROLE_SHARD_BOOK_H_
