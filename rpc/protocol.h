// Constants of the protocol between the processes of a cluster.

#ifndef MALLOCMUZERO_RPC_PROTOCOL_H_
#define MALLOCMUZERO_RPC_PROTOCOL_H_

#include <cstdint>

namespace mallocmuzero {

// Raise this version when a peer of the previous version would misunderstand a message.
inline constexpr uint32_t kProtocolVersion = 1;

// Keys of a call's metadata: the version in decimal digits; the token, if one is configured; and,
// in calls of administration, the administrators' token, if one is configured. A prefix precedes
// each token.
inline constexpr char kProtocolKey[] = "mallocmuzero-protocol";
inline constexpr char kTokenKey[] = "authorization";
inline constexpr char kAdminKey[] = "mallocmuzero-administrator";
inline constexpr char kTokenPrefix[] = "Bearer ";

// Key of the metadata of an insert stream whose first item replaces a stored one. Its value has no
// meaning.
inline constexpr char kReplacementsKey[] = "mallocmuzero-replacements";

// Key of the metadata that a shard sends when it accepts a stream of draws, before the first
// answer. Its value has no meaning. Shards of earlier releases do not send it.
inline constexpr char kStreamOpenKey[] = "mallocmuzero-stream-open";

// Client and server refuse messages of more than kMaxMessageBytes. Streams split what they send
// into messages of about kMessageBytes.
inline constexpr int kMaxMessageBytes = 64 << 20;
inline constexpr int kMessageBytes = 1 << 20;

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_RPC_PROTOCOL_H_
