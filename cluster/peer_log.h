// Makes log lines when a role loses a peer that it needs and when the peer is back.

#ifndef MALLOCMUZERO_CLUSTER_PEER_LOG_H_
#define MALLOCMUZERO_CLUSTER_PEER_LOG_H_

#include <cstdint>
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

  // Returns the lines about changes since the last call. `peers` must list all peers. Reports each
  // counted loss, otherwise at most one change of trouble of a peer a minute, and the return only
  // after a reported loss.
  std::vector<Line> Note(absl::Span<const PeerState> peers, absl::Time now);

 private:
  struct Peer {
    absl::Time lost_at = absl::InfinitePast();  // the beginning of the current loss
    absl::Time told_at = absl::InfinitePast();  // the last report of a loss
    std::string told;                           // the reported trouble of this loss; empty if none
    bool away = false;
    uint64_t losses = 0;  // as in PeerState
  };

  std::map<std::string, Peer> peers_;  // by name
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_CLUSTER_PEER_LOG_H_
