// Whether a process can reach another process that it needs.

#ifndef MALLOCMUZERO_RPC_PEER_STATE_H_
#define MALLOCMUZERO_RPC_PEER_STATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"

namespace mallocmuzero {

struct PeerState {
  std::string name;  // such as "shard a on 10.0.0.1:7410"

  // Why the peer cannot be reached, in a few words. Empty if it was reached at the last attempt or
  // if there was no attempt yet.
  std::string trouble;

  // The number of times that the peer was lost, and why at the last time; 0 where this is not
  // counted. It tells of losses that were mended between two looks.
  uint64_t losses = 0;
  std::string last_loss;
};

// Returns whether no peer has trouble.
inline bool AllReached(const std::vector<PeerState>& peers) {
  return absl::c_all_of(peers, [](const PeerState& peer) { return peer.trouble.empty(); });
}

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_RPC_PEER_STATE_H_
