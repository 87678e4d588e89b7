// Constants of the protocol between the processes of a cluster.

#ifndef MALLOCMUZERO_RPC_PROTOCOL_H_
#define MALLOCMUZERO_RPC_PROTOCOL_H_

#include <cstdint>

namespace mallocmuzero {

// Raise this version when a peer of the previous version would misunderstand a message.
inline constexpr uint32_t kProtocolVersion = 1;

// Keys of the metadata that every call carries: the version in decimal digits and, if one is
// configured, the token after its prefix.
inline constexpr char kProtocolKey[] = "mallocmuzero-protocol";
inline constexpr char kTokenKey[] = "authorization";
inline constexpr char kTokenPrefix[] = "Bearer ";

// Client and server refuse messages of more than kMaxMessageBytes. Streams split what they send
// into messages of about kMessageBytes.
inline constexpr int kMaxMessageBytes = 64 << 20;
inline constexpr int kMessageBytes = 1 << 20;

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_RPC_PROTOCOL_H_
