// How quantities become numbers in [-1, 1] that a network can tell apart.

#ifndef MALLOCMUZERO_ENV_OBSERVATION_SCALE_H_
#define MALLOCMUZERO_ENV_OBSERVATION_SCALE_H_

#include <algorithm>
#include <cmath>

namespace mallocmuzero::observation {

inline float Clamp(double value) { return static_cast<float>(std::clamp(value, -1.0, 1.0)); }

// A share of the fast memory, 0 or more: 0 for none, 0.8 for all of it, 1 for 16 times as much.
inline float SizeScale(double share) { return Clamp(std::log2(1 + share * 0x1p16) / 20); }

// A share of the all-HBM cycles, of any sign: 0 for none, 1 for all, a half for 2^-14.
inline float CyclesScale(double share) {
  return Clamp(std::copysign(std::log2(1 + std::abs(share) * 0x1p28) / 28, share));
}

// A count, 0 or more: 0 for none, 1 for 2^`bits` - 1 and above.
inline float CountScale(double count, double bits) { return Clamp(std::log2(1 + count) / bits); }

// An amount compared with the wanted amount: 0 for none, a half for just enough, 1 for far more.
inline float EnoughScale(double there, double wanted) {
  return there + wanted > 0 ? Clamp(there / (there + wanted)) : 0;
}

// A positive ratio: 0 for 1, 1 for 2^`bits`, -1 for 2^-`bits`.
inline float RatioScale(double ratio, double bits) { return Clamp(std::log2(ratio) / bits); }

}  // namespace mallocmuzero::observation

#endif  // MALLOCMUZERO_ENV_OBSERVATION_SCALE_H_
