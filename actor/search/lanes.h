// Vectors with one lane an action, for the arithmetic at a node of a search tree.

#ifndef MALLOCMUZERO_ACTOR_SEARCH_LANES_H_
#define MALLOCMUZERO_ACTOR_SEARCH_LANES_H_

#include <cstdint>
#include <cstring>
#include <limits>

namespace mallocmuzero {

// The vector extension of GCC and Clang: four lanes are one register on every machine. Written out
// because neither compiler reorders a sum of floats by itself.
using Float4 = float __attribute__((vector_size(16)));
using Mask4 = int32_t __attribute__((vector_size(16)));
using Bits4 = uint32_t __attribute__((vector_size(16)));

// The `count` lowest bits, of 32.
inline uint32_t LowBits(uint32_t count) { return count >= 32 ? ~0U : (1U << count) - 1; }

// kLanes is a multiple of 4. What is done in one lane does not depend on which lane it is, so equal
// actions stay exactly equal.
template <int kLanes>
struct Lanes {
  static constexpr int kParts = kLanes / 4;
  Float4 part[kParts];

  static Lanes All(float value) {
    Lanes result;
    for (Float4& part : result.part) part = Float4{value, value, value, value};
    return result;
  }
  static Lanes Load(const float* from) {
    Lanes result;
    std::memcpy(result.part, from, sizeof(result.part));
    return result;
  }
  void Store(float* to) const { std::memcpy(to, part, sizeof(part)); }
  static Lanes Iota() {
    Lanes result;
    for (int p = 0; p < kParts; ++p) result.part[p] = Float4{0, 1, 2, 3} + 4.0F * p;
    return result;
  }
};

// All bits of a lane are set, or none.
template <int kLanes>
struct LaneMask {
  Mask4 part[kLanes / 4];

  // The lanes of the bits.
  static LaneMask Of(uint32_t bits) {
    LaneMask result;
    for (int lane = 0; lane < kLanes; ++lane) {
      result.part[lane / 4][lane % 4] = (bits >> lane & 1U) != 0 ? -1 : 0;
    }
    return result;
  }
};

template <int kLanes>
Lanes<kLanes> operator+(Lanes<kLanes> a, const Lanes<kLanes>& b) {
  for (int p = 0; p < a.kParts; ++p) a.part[p] += b.part[p];
  return a;
}
template <int kLanes>
Lanes<kLanes> operator-(Lanes<kLanes> a, float b) {
  for (int p = 0; p < a.kParts; ++p) a.part[p] -= b;
  return a;
}
template <int kLanes>
Lanes<kLanes> operator-(Lanes<kLanes> a, const Lanes<kLanes>& b) {
  for (int p = 0; p < a.kParts; ++p) a.part[p] -= b.part[p];
  return a;
}
template <int kLanes>
Lanes<kLanes> operator*(Lanes<kLanes> a, const Lanes<kLanes>& b) {
  for (int p = 0; p < a.kParts; ++p) a.part[p] *= b.part[p];
  return a;
}
template <int kLanes>
Lanes<kLanes> operator*(float a, Lanes<kLanes> b) {
  for (int p = 0; p < b.kParts; ++p) b.part[p] *= a;
  return b;
}
template <int kLanes>
Lanes<kLanes> operator/(Lanes<kLanes> a, const Lanes<kLanes>& b) {
  for (int p = 0; p < a.kParts; ++p) a.part[p] /= b.part[p];
  return a;
}
template <int kLanes>
Lanes<kLanes> operator/(Lanes<kLanes> a, float b) {
  for (int p = 0; p < a.kParts; ++p) a.part[p] /= b;
  return a;
}

template <int kLanes>
LaneMask<kLanes> operator>(const Lanes<kLanes>& a, float b) {
  LaneMask<kLanes> result;
  for (int p = 0; p < a.kParts; ++p) result.part[p] = a.part[p] > b;
  return result;
}
template <int kLanes>
LaneMask<kLanes> operator==(const Lanes<kLanes>& a, float b) {
  LaneMask<kLanes> result;
  for (int p = 0; p < a.kParts; ++p) result.part[p] = a.part[p] == b;
  return result;
}
template <int kLanes>
LaneMask<kLanes> operator&(LaneMask<kLanes> a, const LaneMask<kLanes>& b) {
  for (int p = 0; p < kLanes / 4; ++p) a.part[p] &= b.part[p];
  return a;
}

// a where the mask is set, elsewhere b.
template <int kLanes>
Lanes<kLanes> Select(const LaneMask<kLanes>& mask, Lanes<kLanes> a, const Lanes<kLanes>& b) {
  for (int p = 0; p < a.kParts; ++p) a.part[p] = mask.part[p] ? a.part[p] : b.part[p];
  return a;
}

inline Float4 Max4(Float4 a, Float4 b) { return a > b ? a : b; }
inline Float4 Min4(Float4 a, Float4 b) { return a < b ? a : b; }
inline Float4 SwapPairs(Float4 a) { return __builtin_shufflevector(a, a, 2, 3, 0, 1); }
inline Float4 SwapNeighbours(Float4 a) { return __builtin_shufflevector(a, a, 1, 0, 3, 2); }

template <int kLanes>
Lanes<kLanes> Max(Lanes<kLanes> a, float b) {
  for (int p = 0; p < a.kParts; ++p) a.part[p] = Max4(a.part[p], Float4{b, b, b, b});
  return a;
}

template <int kLanes>
float Sum(const Lanes<kLanes>& a) {
  Float4 sum = a.part[0];
  for (int p = 1; p < a.kParts; ++p) sum += a.part[p];
  sum += SwapPairs(sum);
  sum += SwapNeighbours(sum);
  return sum[0];
}
template <int kLanes>
float MaxOf(const Lanes<kLanes>& a) {
  Float4 max = a.part[0];
  for (int p = 1; p < a.kParts; ++p) max = Max4(max, a.part[p]);
  max = Max4(max, SwapPairs(max));
  max = Max4(max, SwapNeighbours(max));
  return max[0];
}
template <int kLanes>
float MinOf(const Lanes<kLanes>& a) {
  Float4 min = a.part[0];
  for (int p = 1; p < a.kParts; ++p) min = Min4(min, a.part[p]);
  min = Min4(min, SwapPairs(min));
  min = Min4(min, SwapNeighbours(min));
  return min[0];
}

// The first of the highest among the lanes of `among`; `fallback` if a score is not a number.
template <int kLanes>
uint32_t Argmax(const Lanes<kLanes>& scores, const LaneMask<kLanes>& among, uint32_t fallback) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  const Lanes<kLanes> candidates = Select(among, scores, Lanes<kLanes>::All(kLowest));
  const LaneMask<kLanes> best = (candidates == MaxOf(candidates)) & among;
  const float lane = MinOf(Select(best, Lanes<kLanes>::Iota(), Lanes<kLanes>::All(kLanes)));
  return lane < kLanes ? static_cast<uint32_t>(lane) : fallback;
}

// exp(x) for x <= 0, to 2 units in the last place; exp(-87), which is about 1e-38, for less, and
// for what is not a number. The polynomial is that of Cephes, expf.c.
inline Float4 Exp4(Float4 x) {
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  x = Max4(x, Float4{-87, -87, -87, -87});
  const Float4 shifted = x * 1.44269504F + kRound;
  const Float4 n = shifted - kRound;
  const Float4 r = x - n * 0.693359375F - n * -2.12194440e-4F;
  Float4 y = r * 1.9875691500e-4F + 1.3981999507e-3F;
  y = y * r + 8.3334519073e-3F;
  y = y * r + 4.1665795894e-2F;
  y = y * r + 1.6666665459e-1F;
  y = y * r + 5.0000001201e-1F;
  y = y * (r * r) + r + 1.0F;
  // The low bits of `shifted` are n; a product with 2^n is a sum with the exponent.
  Bits4 shifted_bits;
  Bits4 y_bits;
  std::memcpy(&shifted_bits, &shifted, sizeof(shifted));
  std::memcpy(&y_bits, &y, sizeof(y));
  y_bits += shifted_bits << 23;
  std::memcpy(&y, &y_bits, sizeof(y));
  return y;
}

// Over all lanes. A lane with a logit near the lowest float gets next to nothing.
template <int kLanes>
Lanes<kLanes> Softmax(Lanes<kLanes> logits) {
  logits = logits - MaxOf(logits);
  for (Float4& part : logits.part) part = Exp4(part);
  return logits / Sum(logits);
}

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_SEARCH_LANES_H_
