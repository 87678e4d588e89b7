// Whether a process can reach another process that it needs.

#ifndef MALLOCMUZERO_RPC_PEER_STATE_H_
#define MALLOCMUZERO_RPC_PEER_STATE_H_

#include <string>

namespace mallocmuzero {

struct PeerState {
  std::string name;  // such as "shard a on 10.0.0.1:7410"

  // Why the peer cannot be reached, in a few words. Empty if it was reached at the last attempt or
  // if there was no attempt yet.
  std::string trouble;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_RPC_PEER_STATE_H_
