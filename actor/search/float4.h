// Four floats at once: one lane a node, for the arithmetic on nodes of search trees.

#ifndef MALLOCMUZERO_ACTOR_SEARCH_FLOAT4_H_
#define MALLOCMUZERO_ACTOR_SEARCH_FLOAT4_H_

#include <cstdint>
#include <cstring>

namespace mallocmuzero {

// The vector extension of GCC and Clang: four lanes are one register on every machine.
using Float4 = float __attribute__((vector_size(16)));
using Int4 = int32_t __attribute__((vector_size(16)));  // of a mask: all bits set, or none
using Bits4 = uint32_t __attribute__((vector_size(16)));

inline Float4 All(float value) { return Float4{value, value, value, value}; }
inline Float4 Max(Float4 a, Float4 b) { return a > b ? a : b; }
inline Float4 Min(Float4 a, Float4 b) { return a < b ? a : b; }
inline Float4 OrZero(Int4 mask, Float4 a) { return mask ? a : All(0); }

inline Float4 Load(const float* from) {
  Float4 result;
  std::memcpy(&result, from, sizeof(result));
  return result;
}

// Rows become columns.
inline void Transpose(Float4& a, Float4& b, Float4& c, Float4& d) {
  const Float4 ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  const Float4 ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Float4 cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const Float4 cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  a = __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5);
  b = __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7);
  c = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
  d = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
}

// exp(x) for x <= 0, to 2 units in the last place; exp(-87), which is about 1e-38, for less, and
// for what is not a number. The polynomial is that of Cephes, expf.c.
inline Float4 Exp(Float4 x) {
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  x = Max(x, All(-87));
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

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_SEARCH_FLOAT4_H_
