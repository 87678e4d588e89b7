// What a role's log says of the roles that it needs: when one is lost, and when it is back.

#ifndef MALLOCMUZERO_CLUSTER_PEER_LOG_H_
#define MALLOCMUZERO_CLUSTER_PEER_LOG_H_

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/log.h"
#include "rpc/peer_state.h"

namespace mallocmuzero {

// Not thread-safe.
class PeerLog {
 public:
  struct Line {
    LogLevel level;
    std::string text;
  };

  // What is new about `peers`, which are all there are. Of one that comes and goes, or whose
  // trouble changes, no more than one loss a minute is told.
  std::vector<Line> Note(absl::Span<const PeerState> peers, absl::Time now);

 private:
  struct Peer {
    absl::Time lost_at = absl::InfinitePast();  // while it is away
    absl::Time told_at = absl::InfinitePast();  // the last loss
    std::string told;                           // of this loss; empty: nothing yet
    bool away = false;
  };

  std::map<std::string, Peer> peers_;  // by name
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_CLUSTER_PEER_LOG_H_
