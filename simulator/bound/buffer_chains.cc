#include "simulator/bound/buffer_chains.h"

#include "simulator/bound/aligned_bytes.h"
#include "simulator/bound/prices.h"

namespace mallocmuzero::bound {
namespace {

// Where a loop hands a buffer's value on.
struct Handover {
  int roles = 0;
  uint32_t marker = 0;
};

class ChainBuilder {
 public:
  explicit ChainBuilder(const Program& program)
      : program_(program), received_(program.buffer_count()), given_(program.buffer_count()) {
    for (const CarriedGroup& group : program.carried_groups()) {
      const Loop& loop = program.loops()[group.loop];
      Note(received_[group.parameter_buffer], loop.begin);
      Note(received_[group.result_buffer], loop.end);
      Note(given_[group.initial_buffer], loop.begin);
      Note(given_[group.root_buffer], loop.end);
    }
    const Baseline* baseline = program.baseline();
    if (baseline == nullptr) return;
    for (const Interval& interval : baseline->mapping.intervals) {
      if (interval.cross_program_prefetch) prefetched_ = interval.buffer;
    }
  }

  BufferChain Make(uint32_t b) const {
    const Buffer& buffer = program_.buffers()[b];
    BufferChain chain;
    chain.bytes = static_cast<double>(buffer.bytes);
    chain.size = AlignedBytes(program_.hardware(), buffer);
    const double capacity = AlignedCapacity(program_.hardware());
    while (chain.first_large_limit < kLargeLimits &&
           chain.size * static_cast<double>(chain.first_large_limit + 2) <= capacity) {
      ++chain.first_large_limit;
    }
    uint32_t copy_from = buffer.first;
    for (const uint32_t a : program_.AccessesOfBuffer(b)) {
      const Access& access = program_.accesses()[a];
      chain.links.push_back({a, access.instruction, copy_from, access.kind});
      if (access.kind != AccessKind::kRead) copy_from = access.instruction + 1;
    }
    SetStart(b, chain);
    SetEnd(b, chain);
    return chain;
  }

 private:
  static void Note(Handover& handover, uint32_t marker) {
    ++handover.roles;
    handover.marker = marker;
  }

  // A buffer with several roles gets the start that costs least.
  void SetStart(uint32_t b, BufferChain& chain) const {
    const Handover& received = received_[b];
    const uint32_t first = chain.links.front().instruction;
    if (received.roles > 0) {
      chain.starts_fast = true;
      chain.start = received.roles == 1 && received.marker < first ? received.marker : first;
    } else if (prefetched_ == static_cast<int64_t>(b)) {
      chain.starts_fast = true;
      chain.start = 0;
    }
  }

  void SetEnd(uint32_t b, BufferChain& chain) const {
    if (program_.buffers()[b].live_out) {
      chain.ending = ChainEnd::kWriteBack;
      chain.end = program_.instruction_count();
      return;
    }
    const Handover& given = given_[b];
    if (given.roles != 1 || given.marker <= chain.links.back().instruction) return;
    chain.ending = ChainEnd::kHoldOrWriteBack;
    chain.end = given.marker;
  }

  const Program& program_;
  std::vector<Handover> received_;
  std::vector<Handover> given_;
  int64_t prefetched_ = -1;
};

}  // namespace

std::vector<BufferChain> FindBufferChains(const Program& program) {
  const ChainBuilder builder(program);
  std::vector<BufferChain> chains;
  for (uint32_t b = 0; b < program.buffer_count(); ++b) {
    const Buffer& buffer = program.buffers()[b];
    if (program.AccessesOfBuffer(b).empty() || buffer.pinned_to_hbm ||
        buffer.bytes > program.hardware().fast_memory_bytes()) {
      continue;
    }
    chains.push_back(builder.Make(b));
  }
  return chains;
}

}  // namespace mallocmuzero::bound
