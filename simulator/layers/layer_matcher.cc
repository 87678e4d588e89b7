#include "simulator/layers/layer_matcher.h"

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

namespace mallocmuzero {
namespace {

// A layer must be there this often before it counts as one.
constexpr int32_t kLeastLayers = 3;

// A text that two instructions share if they are alike.
std::string KindOf(const Program& program, InstructionIndex i) {
  const v1::Instruction& message = program.MessageOf(i);
  const Instruction& instruction = program.instructions()[i];
  std::string kind =
      absl::StrCat(program.proto().latency().instructions(i.number()).latency_class(), " ",
                   message.opcode(), " ", instruction.fixed_hbm_bytes);
  for (const Access& access : program.AccessesOfInstruction(i)) {
    const Buffer& buffer = program.buffers()[access.buffer];
    absl::StrAppend(&kind, " ", static_cast<int>(access.kind), ":", access.bytes, ":",
                    access.bytes_accessed, ":", buffer.bytes);
  }
  return kind;
}

// Whether two buffers differ only in which layer they are of.
bool AreAlike(const Buffer& a, const Buffer& b) {
  return a.bytes == b.bytes && a.live_in == b.live_in && a.live_out == b.live_out &&
         a.pinned_to_hbm == b.pinned_to_hbm;
}

// Whether the pairs lead from one element to another. `next` has the next one of each element, and
// may pair an element with itself.
template <typename I>
bool Lead(const IndexVector<I, I>& next, I from, I to) {
  for (I i = from; i >= 0; i = next[i]) {
    if (i == to) return true;
    if (i == next[i]) break;
  }
  return false;
}

class LayerMatcher {
 public:
  explicit LayerMatcher(const Program& program)
      : program_(program),
        alike_(NumberAlikeInstructions(program)),
        previous_instruction_(program.instructions().end_index(), -1),
        previous_buffer_(program.buffers().end_index(), -1) {
    pairs_.next_instruction.assign(program.instructions().end_index(), -1);
    pairs_.next_buffer.assign(program.buffers().end_index(), -1);
  }

  LayerPairs Run(int32_t periods) && {
    PairPeriodicPart(periods);
    FollowBuffers();
    PairNeighbours();
    return std::move(pairs_);
  }

 private:
  // Starts in the middle. At the ends of the part an instruction may be like another one only by
  // chance, and what is paired first is kept.
  void PairPeriodicPart(int32_t periods) {
    const PeriodicPart part = LongestPeriodicPart(alike_);
    const int32_t step = part.period * periods;
    if (step == 0 || part.size() < kLeastLayers * step) return;
    const int32_t count = part.size() - step;
    for (int32_t distance = 0; distance <= count; ++distance) {
      const int32_t offset = count / 2 + (distance % 2 == 0 ? distance / 2 : -(distance + 1) / 2);
      if (offset < 0 || offset >= count) continue;
      const InstructionIndex i(part.begin + offset);
      Pair(i, i + step);
    }
  }

  // Pairs two instructions and the buffers that they access, if nothing speaks against it. The
  // compiler may fuse instructions of the first and of the last layer with each other. Such a pair
  // would lead back to the begin of its own chain.
  bool Pair(InstructionIndex i, InstructionIndex next) {
    if (i == next || alike_[i] < 0 || alike_[i] != alike_[next]) return false;
    if (pairs_.next_instruction[i] >= 0 || previous_instruction_[next] >= 0) return false;
    if (Lead(pairs_.next_instruction, next, i)) return false;
    if (!LinkBuffers(i, next)) return false;
    pairs_.next_instruction[i] = next;
    previous_instruction_[next] = i;
    paired_.push_back(i);
    return true;
  }

  // Pairs the buffers of two instructions, or none of them if two of them may not be a pair. Each
  // pair counts when the next one is checked: two pairs may make a circle that neither makes alone.
  bool LinkBuffers(InstructionIndex i, InstructionIndex next) {
    const absl::Span<const Access> accesses = program_.AccessesOfInstruction(i);
    const absl::Span<const Access> next_accesses = program_.AccessesOfInstruction(next);
    std::vector<BufferIndex> linked;
    for (size_t k = 0; k < accesses.size(); ++k) {
      const BufferIndex buffer = accesses[k].buffer;
      const BufferIndex next_buffer = next_accesses[k].buffer;
      if (!MayPair(buffer, next_buffer)) {
        Unlink(linked);
        return false;
      }
      if (pairs_.next_buffer[buffer] >= 0) continue;
      pairs_.next_buffer[buffer] = next_buffer;
      previous_buffer_[next_buffer] = buffer;
      linked.push_back(buffer);
    }
    for (const BufferIndex buffer : linked) {
      if (pairs_.next_buffer[buffer] != buffer) to_follow_.push_back(buffer);
    }
    return true;
  }

  void Unlink(const std::vector<BufferIndex>& linked) {
    for (const BufferIndex buffer : linked) {
      previous_buffer_[pairs_.next_buffer[buffer]] = -1;
      pairs_.next_buffer[buffer] = -1;
    }
  }

  bool MayPair(BufferIndex buffer, BufferIndex next) const {
    if (!AreAlike(program_.buffers()[buffer], program_.buffers()[next])) return false;
    const BufferIndex known_next = pairs_.next_buffer[buffer];
    const BufferIndex known_previous = previous_buffer_[next];
    if (buffer != next && Lead(pairs_.next_buffer, next, buffer)) return false;
    return (known_next < 0 || known_next == next) &&
           (known_previous < 0 || known_previous == buffer);
  }

  void FollowBuffers() {
    while (!to_follow_.empty()) {
      const BufferIndex buffer = to_follow_.front();
      to_follow_.pop_front();
      FollowBuffer(buffer, pairs_.next_buffer[buffer]);
    }
  }

  // An access as the user of a buffer sees it: the kind of instruction, and which of its accesses.
  using Use = std::pair<int32_t, int32_t>;

  // The instructions that use a buffer, by the way in which they use it, in the order of the
  // schedule. `paired` has the pair of each instruction. Instructions with a pair are left out.
  std::map<Use, std::vector<InstructionIndex>> UnpairedUsers(
      BufferIndex buffer, const IndexVector<InstructionIndex, InstructionIndex>& paired) const {
    std::map<Use, std::vector<InstructionIndex>> users;
    for (const AccessIndex a : program_.AccessesOfBuffer(buffer)) {
      const InstructionIndex i = program_.accesses()[a].instruction;
      if (alike_[i] < 0 || paired[i] >= 0) continue;
      users[{alike_[i], a - program_.instructions()[i].first_access}].push_back(i);
    }
    return users;
  }

  // Pairs the users of a buffer with the users of the next layer's buffer. If there are not equally
  // many for one way of use, it is unknown which belong together, so none is paired.
  void FollowBuffer(BufferIndex buffer, BufferIndex next) {
    const auto next_users = UnpairedUsers(next, previous_instruction_);
    for (const auto& [use, users] : UnpairedUsers(buffer, pairs_.next_instruction)) {
      const auto found = next_users.find(use);
      if (found == next_users.end() || found->second.size() != users.size()) continue;
      for (size_t k = 0; k < users.size(); ++k) Pair(users[k], found->second[k]);
    }
  }

  // Pairs instructions without accesses, to which no buffer leads: those beside two that are a
  // pair.
  void PairNeighbours() {
    for (size_t k = 0; k < paired_.size(); ++k) {
      const InstructionIndex i = paired_[k];
      const InstructionIndex next = pairs_.next_instruction[i];
      for (const int step : {-1, 1}) {
        if (!alike_.contains(i + step) || !alike_.contains(next + step)) continue;
        if (program_.AccessesOfInstruction(i + step).empty()) Pair(i + step, next + step);
      }
    }
  }

  const Program& program_;
  IndexVector<InstructionIndex, int32_t> alike_;
  LayerPairs pairs_;
  IndexVector<InstructionIndex, InstructionIndex> previous_instruction_;
  IndexVector<BufferIndex, BufferIndex> previous_buffer_;
  std::vector<InstructionIndex> paired_;  // those that have a next one, in the order of discovery
  std::deque<BufferIndex> to_follow_;     // paired buffers whose users have not been looked at
};

}  // namespace

IndexVector<InstructionIndex, int32_t> NumberAlikeInstructions(const Program& program) {
  IndexVector<InstructionIndex, int32_t> numbers(program.instructions().end_index(), -1);
  absl::flat_hash_map<std::string, int32_t> number_of;
  for (const InstructionIndex i : program.instructions().indices()) {
    const Instruction& instruction = program.instructions()[i];
    if (IsMarker(instruction.kind) || instruction.loop >= 0) continue;
    const auto number = static_cast<int32_t>(number_of.size());
    numbers[i] = number_of.try_emplace(KindOf(program, i), number).first->second;
  }
  return numbers;
}

PeriodicPart LongestPeriodicPart(const IndexVector<InstructionIndex, int32_t>& alike) {
  const absl::Span<const int32_t> numbers = alike.elements();
  const auto count = static_cast<int32_t>(numbers.size());
  PeriodicPart longest;
  for (int32_t period = 1; period <= count / kLeastLayers; ++period) {
    int32_t begin = 0;  // of the current run of instructions that are like the one a period later
    for (int32_t i = 0; i + period < count; ++i) {
      if (numbers[i] < 0 || numbers[i] != numbers[i + period]) {
        begin = i + 1;
        continue;
      }
      const PeriodicPart part{begin, period, i + 1 + period};
      if (part.size() >= kLeastLayers * period && part.size() > longest.size()) longest = part;
    }
  }
  return longest;
}

LayerPairs PairLayers(const Program& program, int32_t periods) {
  return LayerMatcher(program).Run(periods);
}

}  // namespace mallocmuzero
