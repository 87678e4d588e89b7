// Whether a process reaches another one that it needs.

#ifndef MALLOCMUZERO_RPC_PEER_STATE_H_
#define MALLOCMUZERO_RPC_PEER_STATE_H_

#include <string>

namespace mallocmuzero {

struct PeerState {
  std::string name;  // such as "shard a on 10.0.0.1:7410"

  // Why it is not reached, in a few words; empty: it is, or was not tried yet.
  std::string trouble;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_RPC_PEER_STATE_H_
