#include "model/bin_means.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "absl/types/span.h"

namespace mallocmuzero {
namespace {

// Vectors of GCC and Clang. They take several registers if the processor's are shorter.
constexpr size_t kLanes = 16;
using Floats = float __attribute__((vector_size(kLanes * sizeof(float))));
using Ints = int32_t __attribute__((vector_size(kLanes * sizeof(int32_t))));
using Halves = uint16_t __attribute__((vector_size(kLanes * sizeof(uint16_t))));

#define MMZ_INLINE inline __attribute__((always_inline))

MMZ_INLINE Floats Load(const float* numbers) {
  Floats vector;
  std::memcpy(&vector, numbers, sizeof(vector));
  return vector;
}

MMZ_INLINE Floats Load(const uint16_t* numbers) {
  Halves bits;
  std::memcpy(&bits, numbers, sizeof(bits));
  const Ints wide = __builtin_convertvector(bits, Ints) << 16;
  Floats vector;
  std::memcpy(&vector, &wide, sizeof(vector));
  return vector;
}

// The last `count` numbers of a row, filled up with numbers whose softmax is 0.
template <class Number>
MMZ_INLINE Floats LoadTail(const Number* numbers, size_t count) {
  constexpr float kNever = std::numeric_limits<float>::lowest();
  Floats vector;
  for (size_t k = 0; k < kLanes; ++k) vector[k] = kNever;
  Number full[kLanes] = {};
  std::memcpy(full, numbers, count * sizeof(Number));
  const Floats loaded = Load(full);
  for (size_t k = 0; k < count; ++k) vector[k] = loaded[k];
  return vector;
}

MMZ_INLINE Floats Max(Floats a, Floats b) { return a > b ? a : b; }

// e^x for x <= 0, to 2e-7 of itself: 2^(n + f) with a whole n and f in [-1/2, 1/2], where 2^f is
// its Taylor polynomial.
MMZ_INLINE Floats Exp(Floats x) {
  constexpr float kRound = 12582912;  // 1.5 x 2^23: adding it leaves the whole part in the low bits
  const Floats t = Max(x * 1.44269504F, Floats{} - 126.0F);
  const Floats shifted = t + kRound;
  const Floats f = t - (shifted - kRound);
  Floats power = 1.54035304e-4F * f + 1.33335581e-3F;
  power = power * f + 9.61812911e-3F;
  power = power * f + 5.55041087e-2F;
  power = power * f + 0.240226507F;
  power = power * f + 0.693147181F;
  power = power * f + 1.0F;
  Ints n;
  std::memcpy(&n, &shifted, sizeof(n));
  Ints bits;
  std::memcpy(&bits, &power, sizeof(bits));
  bits += n << 23;
  std::memcpy(&power, &bits, sizeof(power));
  return power;
}

template <class Number>
MMZ_INLINE float RowMean(const Number* logits, const float* centers, size_t bins) {
  const size_t whole = bins - bins % kLanes;
  const size_t rest = bins - whole;
  Floats highest = LoadTail(logits + whole, rest);
  const Floats tail = highest;
  for (size_t k = 0; k < whole; k += kLanes) highest = Max(highest, Load(logits + k));
  float maximum = highest[0];
  for (size_t k = 1; k < kLanes; ++k) maximum = std::max(maximum, highest[k]);

  Floats sum = {};
  Floats weighted = {};
  for (size_t k = 0; k < whole; k += kLanes) {
    const Floats e = Exp(Load(logits + k) - maximum);
    sum += e;
    weighted += e * Load(centers + k);
  }
  const Floats e = Exp(tail - maximum);
  float total = 0;
  float total_weighted = 0;
  for (size_t k = 0; k < kLanes; ++k) {
    total += sum[k] + (k < rest ? e[k] : 0);
    total_weighted += weighted[k] + (k < rest ? e[k] * centers[whole + k] : 0);
  }
  return total_weighted / total;
}

template <class Number>
struct Rows {
  const Number* logits;
  size_t stride;
  absl::Span<const float> centers;
  absl::Span<float> means;

  MMZ_INLINE void Run() const {
    for (size_t row = 0; row < means.size(); ++row) {
      means[row] = RowMean(logits + row * stride, centers.data(), centers.size());
    }
  }
};

#if defined(__x86_64__)
template <class Number>
__attribute__((target("avx512f,avx512bw,avx512vl,fma"))) void RunAvx512(const Rows<Number>& rows) {
  rows.Run();
}
template <class Number>
__attribute__((target("avx2,fma"))) void RunAvx2(const Rows<Number>& rows) {
  rows.Run();
}
#endif

// Runs on the widest vectors of this processor.
template <class Number>
void Dispatch(const Rows<Number>& rows) {
#if defined(__x86_64__)
  static const bool avx512 = __builtin_cpu_supports("avx512f") &&
                             __builtin_cpu_supports("avx512bw") &&
                             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma");
  static const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (avx512) return RunAvx512(rows);
  if (avx2) return RunAvx2(rows);
#endif
  rows.Run();
}

}  // namespace

void BinMeans(const float* logits, size_t stride, absl::Span<const float> centers,
              absl::Span<float> means) {
  Dispatch(Rows<float>{logits, stride, centers, means});
}

void BinMeans(const uint16_t* logits, size_t stride, absl::Span<const float> centers,
              absl::Span<float> means) {
  Dispatch(Rows<uint16_t>{logits, stride, centers, means});
}

}  // namespace mallocmuzero
