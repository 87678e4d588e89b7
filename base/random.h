// Random numbers that are the same on every machine for the same seed.

#ifndef MALLOCMUZERO_BASE_RANDOM_H_
#define MALLOCMUZERO_BASE_RANDOM_H_

#include <cstdint>

namespace mallocmuzero {

// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014): a state
// grows by the increment before each number, and the number is the state, mixed.
inline constexpr uint64_t kSplitMixIncrement = 0x9e3779b97f4a7c15;

inline uint64_t SplitMix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// A stream of numbers of SplitMix64.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  // The next 64 random bits.
  uint64_t Next() { return SplitMix(state_ += kSplitMixIncrement); }

  // A number in [0, bound); bound must be positive.
  uint32_t Below(uint32_t bound) { return ((Next() >> 32) * bound) >> 32; }

  // A number in [0, 1).
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_RANDOM_H_
