// What every call of the cluster carries.

#ifndef MALLOCMUZERO_RPC_PROTOCOL_H_
#define MALLOCMUZERO_RPC_PROTOCOL_H_

#include <cstdint>

namespace mallocmuzero {

// Raised when a peer of the previous version would misunderstand a message.
inline constexpr uint32_t kProtocolVersion = 1;

// Metadata of a call: the version in decimal digits, and the tokens if there are any.
inline constexpr char kProtocolKey[] = "mallocmuzero-protocol";
inline constexpr char kTokenKey[] = "authorization";
inline constexpr char kAdminKey[] = "mallocmuzero-administrator";
inline constexpr char kTokenPrefix[] = "Bearer ";

// Of an insert stream whose first item replaces a stored one. The value does not count.
inline constexpr char kReplacementsKey[] = "mallocmuzero-replacements";

// Above it a message is refused. A stream's client and server cut what they send to about
// kMessageBytes.
inline constexpr int kMaxMessageBytes = 64 << 20;
inline constexpr int kMessageBytes = 1 << 20;

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_RPC_PROTOCOL_H_
