#include "simulator/layers/layer_map.h"

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>
#include <utility>

#include "absl/types/span.h"
#include "simulator/layers/layer_matcher.h"

namespace mallocmuzero {
namespace {

// A chain shorter than this may have come about by chance.
constexpr size_t kLeastChain = 3;

// The chains of one kind of element, and for each element its chain and its position in it.
template <typename I>
struct Chains {
  std::vector<LayerChain<I>> chains;
  IndexVector<I, LayerPlace> places;
};

// Follows the pairs from each element that is nobody's next one. A buffer that is paired with
// itself is in no chain.
template <typename I>
Chains<I> MakeChains(const IndexVector<I, I>& next) {
  Chains<I> made;
  made.places.resize(next.end_index());
  IndexVector<I, uint8_t> has_previous(next.end_index(), 0);
  for (const I i : next.indices()) {
    if (next[i] >= 0) has_previous[next[i]] = 1;
  }
  for (const I start : next.indices()) {
    if (has_previous[start] != 0 || next[start] < 0) continue;
    LayerChain<I> chain;
    for (I i = start; i >= 0; i = next[i]) chain.members.push_back(i);
    for (size_t k = 0; k < chain.members.size(); ++k) {
      made.places[chain.members[k]] = {static_cast<int32_t>(made.chains.size()),
                                       static_cast<int32_t>(k)};
    }
    made.chains.push_back(std::move(chain));
  }
  return made;
}

// Numbers the layers of all chains. Within a chain the layers follow each other; this class finds
// out with which one each chain starts.
class LayerNumbering {
 public:
  LayerNumbering(const Program& program, Chains<InstructionIndex>& instructions,
                 Chains<BufferIndex>& buffers)
      : program_(program), instructions_(instructions), buffers_(buffers) {}

  // The longest chain starts with layer 0. A buffer has the layer of the instruction that leads to
  // it, and an instruction that of the buffer that leads to it.
  void Run() {
    instruction_done_.assign(instructions_.chains.size(), false);
    buffer_done_.assign(buffers_.chains.size(), false);
    for (int32_t c = LongestNotDone(); c >= 0; c = LongestNotDone()) NumberFrom(c);
  }

 private:
  int32_t LongestNotDone() const {
    int32_t longest = -1;
    for (int32_t c = 0; c < std::ssize(instructions_.chains); ++c) {
      if (instruction_done_[c]) continue;
      if (longest < 0 ||
          instructions_.chains[c].members.size() > instructions_.chains[longest].members.size()) {
        longest = c;
      }
    }
    return longest;
  }

  void NumberFrom(int32_t chain) {
    instruction_done_[chain] = true;
    std::deque<int32_t> waiting = {chain};
    while (!waiting.empty()) {
      const LayerChain<InstructionIndex>& current = instructions_.chains[waiting.front()];
      waiting.pop_front();
      for (size_t k = 0; k < current.members.size(); ++k) {
        const int32_t layer = current.first_layer + static_cast<int32_t>(k);
        for (const Access& access : program_.AccessesOfInstruction(current.members[k])) {
          VisitBuffer(access.buffer, layer, waiting);
        }
      }
    }
  }

  void VisitBuffer(BufferIndex buffer, int32_t layer, std::deque<int32_t>& waiting) {
    const LayerPlace place = buffers_.places[buffer];
    if (place.chain < 0 || buffer_done_[place.chain]) return;
    LayerChain<BufferIndex>& chain = buffers_.chains[place.chain];
    buffer_done_[place.chain] = true;
    chain.first_layer = layer - place.layer;
    for (size_t k = 0; k < chain.members.size(); ++k) {
      for (const AccessIndex a : program_.AccessesOfBuffer(chain.members[k])) {
        VisitInstruction(program_.accesses()[a].instruction,
                         chain.first_layer + static_cast<int32_t>(k), waiting);
      }
    }
  }

  void VisitInstruction(InstructionIndex i, int32_t layer, std::deque<int32_t>& waiting) {
    const LayerPlace place = instructions_.places[i];
    if (place.chain < 0 || instruction_done_[place.chain]) return;
    instruction_done_[place.chain] = true;
    instructions_.chains[place.chain].first_layer = layer - place.layer;
    waiting.push_back(place.chain);
  }

  const Program& program_;
  Chains<InstructionIndex>& instructions_;
  Chains<BufferIndex>& buffers_;
  std::vector<bool> instruction_done_;
  std::vector<bool> buffer_done_;
};

// Turns the positions in chains into numbers of layers.
template <typename I>
void AddFirstLayers(Chains<I>& chains) {
  for (LayerPlace& place : chains.places) {
    if (place.chain >= 0) place.layer += chains.chains[place.chain].first_layer;
  }
}

// Takes the instructions of short chains out of the layers. Their buffers may stay.
void DropShortChains(Chains<InstructionIndex>& chains) {
  for (LayerPlace& place : chains.places) {
    if (place.chain >= 0 && chains.chains[place.chain].members.size() < kLeastChain) place = {};
  }
}

LayerMap MakeMap(const Program& program, int32_t periods) {
  const LayerPairs pairs = PairLayers(program, periods);
  Chains<InstructionIndex> instructions = MakeChains(pairs.next_instruction);
  Chains<BufferIndex> buffers = MakeChains(pairs.next_buffer);
  LayerNumbering(program, instructions, buffers).Run();
  AddFirstLayers(instructions);
  AddFirstLayers(buffers);
  DropShortChains(instructions);
  return {.instruction_chains = std::move(instructions.chains),
          .buffer_chains = std::move(buffers.chains),
          .instructions = std::move(instructions.places),
          .buffers = std::move(buffers.places)};
}

// The instructions of the layer that has the most.
int64_t LayerSize(const LayerMap& map) {
  const std::vector<int32_t> layers = map.LayersByRepeatability();
  return layers.empty() ? 0 : std::ssize(map.RepeatableInstructions(layers.front()));
}

}  // namespace

std::vector<InstructionIndex> LayerMap::RepeatableInstructions(int32_t layer) const {
  std::vector<InstructionIndex> repeatable;
  for (const InstructionIndex i : instructions.indices()) {
    const LayerPlace place = instructions[i];
    if (place.chain < 0 || place.layer != layer) continue;
    if (instruction_chains[place.chain].Has(layer + 1)) repeatable.push_back(i);
  }
  return repeatable;
}

std::vector<int32_t> LayerMap::LayersByRepeatability() const {
  std::map<int32_t, int32_t> count_of;
  for (const LayerPlace& place : instructions) {
    if (place.chain < 0 || !instruction_chains[place.chain].Has(place.layer + 1)) continue;
    ++count_of[place.layer];
  }
  if (count_of.empty()) return {};
  const int32_t twice_middle = count_of.begin()->first + count_of.rbegin()->first;
  std::vector<std::tuple<int32_t, int32_t, int32_t>> order;  // -count, distance, layer
  for (const auto& [layer, count] : count_of) {
    order.emplace_back(-count, std::abs(2 * layer - twice_middle), layer);
  }
  std::sort(order.begin(), order.end());
  std::vector<int32_t> layers;
  for (const auto& [count, distance, layer] : order) layers.push_back(layer);
  return layers;
}

LayerMap FindLayers(const Program& program) {
  LayerMap map = MakeMap(program, 1);
  LayerMap of_two = MakeMap(program, 2);
  return LayerSize(of_two) > 2 * LayerSize(map) ? std::move(of_two) : std::move(map);
}

}  // namespace mallocmuzero
