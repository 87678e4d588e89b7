#include "env/recorded_incumbent.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace mallocmuzero {
namespace {

constexpr size_t kBits = 8;

}  // namespace

size_t FastMemoryBytes(size_t accesses) { return (accesses + kBits - 1) / kBits; }

std::string FastMemoryBits(IndexSpan<AccessIndex, const uint8_t> in_fast_memory) {
  std::string bytes(FastMemoryBytes(in_fast_memory.size()), '\0');
  for (size_t a = 0; a < in_fast_memory.size(); ++a) {
    if (in_fast_memory.data()[a] == 0) continue;
    bytes[a / kBits] = static_cast<char>(bytes[a / kBits] | 1 << (a % kBits));
  }
  return bytes;
}

RecordedIncumbent::RecordedIncumbent(const v1::Trajectory& trajectory, size_t accesses)
    : trajectory_(trajectory) {
  if (!trajectory.has_incumbent()) return;
  const std::string& bytes = trajectory.incumbent().in_fast_memory();
  for (size_t a = 0; a < accesses; ++a) {
    in_fast_memory_.push_back(static_cast<uint8_t>(bytes[a / kBits]) >> (a % kBits) & 1);
  }
  shown_ = {.in_fast_memory = in_fast_memory_,
            .window_end = AccessIndex(trajectory.incumbent().window_end())};
}

const ShownIncumbent* RecordedIncumbent::At(size_t decision) {
  if (!trajectory_.has_incumbent()) return nullptr;
  shown_.lead = trajectory_.incumbent().leads(static_cast<int>(decision));
  return &shown_;
}

}  // namespace mallocmuzero
