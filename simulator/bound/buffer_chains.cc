#include "simulator/bound/buffer_chains.h"

#include <algorithm>
#include <set>

#include "simulator/bound/aligned_bytes.h"
#include "simulator/bound/prices.h"

namespace mallocmuzero::bound {
namespace {

// Where a loop hands a buffer's value on.
struct Handover {
  int roles = 0;
  InstructionIndex marker = 0;  // the first one if the buffer has several roles
};

class ChainBuilder {
 public:
  explicit ChainBuilder(const Program& program)
      : program_(program),
        received_(program.buffer_count()),
        given_(program.buffer_count()),
        replaced_(program.buffer_count()) {
    for (const CarriedGroup& group : program.carried_groups()) {
      const Loop& loop = program.loops()[group.loop];
      Note(received_[group.parameter_buffer], loop.begin);
      Note(received_[group.result_buffer], loop.end);
      Note(given_[group.initial_buffer], loop.begin);
      Note(given_[group.root_buffer], loop.end);
      if (group.parameter_buffer != group.initial_buffer) {
        replaced_[group.parameter_buffer].insert(loop.begin);
      }
      if (group.result_buffer != group.root_buffer) {
        replaced_[group.result_buffer].insert(loop.end);
      }
    }
    const Baseline* baseline = program.baseline();
    if (baseline == nullptr) return;
    for (const Interval& interval : baseline->mapping.intervals) {
      if (interval.cross_program_prefetch) prefetched_.insert(interval.buffer);
    }
  }

  BufferChain Make(BufferIndex b) const {
    const Buffer& buffer = program_.buffers()[b];
    BufferChain chain;
    chain.bytes = static_cast<double>(buffer.bytes);
    chain.size = AlignedBytes(program_.hardware(), buffer);
    const double capacity = AlignedCapacity(program_.hardware());
    while (chain.first_large_limit < kLargeLimits &&
           chain.size * static_cast<double>(chain.first_large_limit + 2) <= capacity) {
      ++chain.first_large_limit;
    }
    InstructionIndex copy_from = buffer.first;
    // The live range in a file may begin at the first access of a parameter or a result.
    if (received_[b].roles > 0) copy_from = std::min(copy_from, received_[b].marker + 1);
    for (const AccessIndex a : program_.AccessesOfBuffer(b)) {
      const Access& access = program_.accesses()[a];
      const bool is_handed_on =
          !chain.links.empty() &&
          ReplacedAfter(b, chain.links.back().instruction) < access.instruction;
      chain.links.push_back({a, access.instruction, copy_from, access.kind, is_handed_on});
      if (access.kind != AccessKind::kRead) copy_from = access.instruction + 1;
    }
    SetStart(b, chain);
    SetEnd(b, chain);
    return chain;
  }

 private:
  static void Note(Handover& handover, InstructionIndex marker) {
    handover.marker = handover.roles == 0 ? marker : std::min(handover.marker, marker);
    ++handover.roles;
  }

  // The first marker after an instruction at which a loop hands the value of another buffer on to
  // this one; the number of instructions if there is none.
  InstructionIndex ReplacedAfter(BufferIndex b, InstructionIndex instruction) const {
    const auto found = replaced_[b].upper_bound(instruction);
    return found == replaced_[b].end() ? program_.instructions().end_index() : *found;
  }

  // A buffer with several roles gets the start that costs least.
  void SetStart(BufferIndex b, BufferChain& chain) const {
    const Handover& received = received_[b];
    const InstructionIndex first = chain.links.front().instruction;
    if (received.roles > 0) {
      chain.starts_fast = true;
      chain.start = received.roles == 1 && received.marker < first ? received.marker : first;
    } else if (prefetched_.contains(b)) {
      chain.starts_fast = true;
      chain.start = 0;
    }
  }

  void SetEnd(BufferIndex b, BufferChain& chain) const {
    const InstructionIndex last = chain.links.back().instruction;
    const InstructionIndex end = program_.instructions().end_index();
    const InstructionIndex replaced = ReplacedAfter(b, last);
    if (program_.buffers()[b].live_out && replaced == end) {
      chain.ending = ChainEnd::kWriteBack;
      chain.end = end;
      return;
    }
    const Handover& given = given_[b];
    if (given.roles != 1 || given.marker <= last || given.marker > replaced) return;
    chain.ending = ChainEnd::kHoldOrWriteBack;
    chain.end = given.marker;
  }

  const Program& program_;
  IndexVector<BufferIndex, Handover> received_;
  IndexVector<BufferIndex, Handover> given_;
  // The markers at which a loop hands the value of another buffer on to each one.
  IndexVector<BufferIndex, std::set<InstructionIndex>> replaced_;
  // A mapping has a cross-program prefetch of at most one of the buffers that the baseline
  // prefetches. It may be any of them.
  std::set<BufferIndex> prefetched_;
};

}  // namespace

std::vector<BufferChain> FindBufferChains(const Program& program) {
  const ChainBuilder builder(program);
  std::vector<BufferChain> chains;
  for (const BufferIndex b : program.buffers().indices()) {
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
