#include "simulator/layers/repeat_layers.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/index.h"
#include "base/rounding.h"
#include "base/status_macros.h"
#include "simulator/core/fingerprint.h"
#include "simulator/core/indices.h"
#include "simulator/layers/layer_map.h"
#include "simulator/layers/longer_schedule.h"

namespace mallocmuzero {
namespace {

// To make a program of a million instructions takes about 5 GB of memory.
constexpr int64_t kMostInstructions = 1'000'000;

// An instruction outside of the layers that uses so many buffers of one chain uses those of all
// layers, and so do loops. The compiler fuses instructions of two layers.
constexpr int32_t kBuffersOfAllLayers = 3;

std::string CopyName(const std::string& name, int32_t copy) {
  return copy == 0 ? name : absl::StrCat(name, ".copy", copy);
}

// Makes the program with `count` copies of `layer`.
class Repeater {
 public:
  Repeater(const Program& program, const LayerMap& map, int32_t layer, int32_t count)
      : old_(program),
        map_(map),
        layer_(layer),
        count_(count),
        schedule_(LongerSchedule(map, layer, count)) {}

  absl::StatusOr<v1::Program> Run() && {
    new_ = old_.proto();
    new_.clear_baseline();
    new_.clear_source();
    new_.clear_matches();
    PlaceInstructions();
    AddBuffers();
    MMZ_RETURN_IF_ERROR(CheckUsesOutsideOfLayers());
    MMZ_RETURN_IF_ERROR(CheckLoops());
    AddInstructions();
    AddTensors();
    CountClassMembers();
    MMZ_RETURN_IF_ERROR(SetLiveRanges());
    new_.add_notes(
        absl::StrCat("no compile has this program: ", count_, " of its layers are copies"));
    return std::move(new_);
  }

 private:
  // A buffer of the new program: `copy` of the old buffer `source`.
  struct NewBuffer {
    BufferIndex source;
    int32_t copy = 0;
  };

  // The layer of the new program that an old or copied element of layer `old_layer` is in.
  int32_t NewLayer(int32_t old_layer, int32_t copy) const {
    if (copy > 0) return old_layer + copy;
    return old_layer > layer_ ? old_layer + count_ : old_layer;
  }

  // Where the old instructions and the copies are in the new schedule.
  void PlaceInstructions() {
    place_of_.resize(old_.instructions().end_index());
    copy_places_.resize(old_.instructions().end_index());
    for (const InstructionIndex i : schedule_.indices()) {
      const ScheduledCopy& entry = schedule_[i];
      if (entry.copy == 0) {
        place_of_[entry.source] = i;
      } else {
        std::vector<InstructionIndex>& places = copy_places_[entry.source];
        if (places.empty()) places.resize(count_);
        places[entry.copy - 1] = i;
      }
    }
  }

  // The new place of an instruction of a chain in a layer of the new program; -1 if the chain is
  // not in that layer.
  InstructionIndex PlaceIn(const LayerChain<InstructionIndex>& chain, int32_t new_layer) const {
    const bool is_repeated = chain.Has(layer_) && chain.Has(layer_ + 1);
    if (is_repeated && new_layer > layer_ && new_layer <= layer_ + count_) {
      return copy_places_[chain.At(layer_)][new_layer - layer_ - 1];
    }
    const int32_t old_layer = new_layer > layer_ ? new_layer - count_ : new_layer;
    return chain.Has(old_layer) ? place_of_[chain.At(old_layer)] : InstructionIndex(-1);
  }

  // The layer of a chain behind which its copies are. A chain need not be in `layer_` itself.
  int32_t CutOf(const LayerChain<BufferIndex>& chain) const {
    return std::clamp(layer_, chain.first_layer, chain.last_layer());
  }

  // Keeps the old buffers and appends the copies, chain by chain.
  void AddBuffers() {
    for (const BufferIndex b : old_.buffers().indices()) buffers_.push_back({.source = b});
    first_copy_.assign(map_.buffer_chains.size(), -1);
    for (const InstructionIndex i : map_.RepeatableInstructions(layer_)) {
      for (const Access& access : old_.AccessesOfInstruction(i)) AddCopies(access.buffer);
    }
  }

  void AddCopies(BufferIndex buffer) {
    const LayerPlace place = map_.buffers[buffer];
    if (place.chain < 0 || first_copy_[place.chain] >= 0) return;
    first_copy_[place.chain] = buffers_.end_index();
    const LayerChain<BufferIndex>& chain = map_.buffer_chains[place.chain];
    const BufferIndex source = chain.At(CutOf(chain));
    for (int32_t copy = 1; copy <= count_; ++copy) {
      buffers_.push_back({.source = source, .copy = copy});
      *new_.add_buffers() = old_.MessageOf(source);
    }
  }

  bool IsRepeated(InstructionIndex i) const {
    const LayerPlace place = map_.instructions[i];
    if (place.chain < 0) return false;
    const LayerChain<InstructionIndex>& chain = map_.instruction_chains[place.chain];
    return chain.Has(layer_) && chain.Has(layer_ + 1);
  }

  // A sum over all layers has more operands in a deeper model, and nobody knows its latency then.
  absl::Status CheckUsesOutsideOfLayers() const {
    for (const InstructionIndex i : old_.instructions().indices()) {
      if (IsRepeated(i)) continue;
      std::map<int32_t, int32_t> buffers_of;  // by chain
      for (const Access& access : old_.AccessesOfInstruction(i)) {
        const int32_t chain = map_.buffers[access.buffer].chain;
        if (chain < 0 || first_copy_[chain] < 0) continue;
        if (++buffers_of[chain] < kBuffersOfAllLayers) continue;
        return absl::InvalidArgumentError(absl::StrCat(
            "instruction ", old_.MessageOf(i).name(),
            " uses a buffer of each layer, and its latency with more of them is unknown"));
      }
    }
    return absl::OkStatus();
  }

  // A loop that uses each buffer, by an access in it or because it carries the buffer; -1: none.
  IndexVector<BufferIndex, LoopIndex> LoopsOfBuffers() const {
    IndexVector<BufferIndex, LoopIndex> loops(old_.buffers().end_index(), -1);
    for (const Access& access : old_.accesses()) {
      const LoopIndex loop = old_.instructions()[access.instruction].loop;
      if (loop >= 0) loops[access.buffer] = loop;
    }
    for (const CarriedGroup& group : old_.carried_groups()) {
      loops[group.initial_buffer] = group.loop;
      loops[group.result_buffer] = group.loop;
    }
    return loops;
  }

  // Nothing in a loop has copies. If each layer has a loop, or one loop uses all layers, a deeper
  // model has more in loops than the new program.
  absl::Status CheckLoops() const {
    const IndexVector<BufferIndex, LoopIndex> loops = LoopsOfBuffers();
    for (size_t chain = 0; chain < first_copy_.size(); ++chain) {
      if (first_copy_[chain] < 0) continue;
      int32_t used = 0;
      for (const BufferIndex buffer : map_.buffer_chains[chain].members) {
        if (loops[buffer] < 0 || ++used < kBuffersOfAllLayers) continue;
        return absl::InvalidArgumentError(absl::StrCat("expected layers without loops, found loop ",
                                                       old_.MessageOf(loops[buffer]).name(),
                                                       ", which uses a buffer of a layer"));
      }
    }
    return absl::OkStatus();
  }

  // The buffer that the instruction accesses in the new program in the place of `buffer`. Its layer
  // is as far from the instruction's as before.
  BufferIndex NewBufferOf(const ScheduledCopy& user, BufferIndex buffer) const {
    const LayerPlace user_place = map_.instructions[user.source];
    const LayerPlace place = map_.buffers[buffer];
    if (place.chain < 0 || first_copy_[place.chain] < 0 || !IsRepeated(user.source)) return buffer;
    const LayerChain<BufferIndex>& chain = map_.buffer_chains[place.chain];
    const int32_t cut = CutOf(chain);
    const int32_t layer = NewLayer(user_place.layer, user.copy) + place.layer - user_place.layer;
    if (layer <= cut) return chain.At(layer);
    if (layer > cut + count_) return chain.At(layer - count_);
    return first_copy_[place.chain] + (layer - cut - 1);
  }

  void AddInstructions() {
    new_.clear_instructions();
    new_.clear_accesses();
    new_.mutable_latency()->clear_instructions();
    for (const InstructionIndex i : schedule_.indices()) {
      const ScheduledCopy& entry = schedule_[i];
      v1::Instruction& instruction = *new_.add_instructions();
      instruction = old_.MessageOf(entry.source);
      instruction.set_name(CopyName(instruction.name(), entry.copy));
      instruction.set_first_access(new_.accesses_size());
      const AccessIndex first = old_.instructions()[entry.source].first_access;
      for (uint32_t k = 0; k < instruction.access_count(); ++k) {
        v1::Access& access = *new_.add_accesses();
        access = old_.MessageOf(first + k);
        access.set_instruction(i.number());
        access.set_buffer(NewBufferOf(entry, BufferIndex(access.buffer())).number());
      }
      *new_.mutable_latency()->add_instructions() =
          old_.proto().latency().instructions(entry.source.number());
    }
    for (v1::Loop& loop : *new_.mutable_loops()) {
      loop.set_begin(place_of_[InstructionIndex(loop.begin())].number());
      loop.set_end(place_of_[InstructionIndex(loop.end())].number());
    }
  }

  // Each copied buffer has the tensors of its source.
  void AddTensors() {
    IndexVector<BufferIndex, std::vector<int>> tensors_of(old_.buffers().end_index());
    for (int t = 0; t < old_.proto().tensors_size(); ++t) {
      tensors_of[BufferIndex(old_.proto().tensors(t).buffer())].push_back(t);
    }
    for (const BufferIndex b : buffers_.indices()) {
      if (buffers_[b].copy == 0) continue;
      for (const int t : tensors_of[buffers_[b].source]) {
        v1::Tensor& tensor = *new_.add_tensors();
        tensor = old_.proto().tensors(t);
        tensor.set_instruction_name(CopyName(tensor.instruction_name(), buffers_[b].copy));
        tensor.set_buffer(b.number());
      }
    }
  }

  void CountClassMembers() {
    for (v1::LatencyClass& latency_class : *new_.mutable_latency()->mutable_classes()) {
      latency_class.set_members(0);
    }
    for (const v1::InstructionLatency& instruction : new_.latency().instructions()) {
      v1::LatencyClass& latency_class =
          *new_.mutable_latency()->mutable_classes(instruction.latency_class());
      latency_class.set_members(latency_class.members() + 1);
    }
  }

  // The new place of the instruction at which the live range of a buffer begins or ends. It is as
  // many layers from the buffer as before.
  InstructionIndex PlaceOfEnd(const NewBuffer& buffer, InstructionIndex end) const {
    const LayerPlace place = map_.buffers[buffer.source];
    const LayerPlace end_place = map_.instructions[end];
    if (place.chain < 0 || first_copy_[place.chain] < 0 || end_place.chain < 0) {
      return place_of_[end];
    }
    const int32_t cut = CutOf(map_.buffer_chains[place.chain]);
    int32_t layer = place.layer + buffer.copy;
    if (buffer.copy == 0 && place.layer > cut) layer += count_;
    const InstructionIndex moved =
        PlaceIn(map_.instruction_chains[end_place.chain], layer + end_place.layer - place.layer);
    return moved < 0 ? place_of_[end] : moved;
  }

  // The live range of each buffer is that of its source, moved, and covers all accesses.
  absl::Status SetLiveRanges() {
    const uint32_t end = new_.instructions_size() - 1;
    IndexVector<BufferIndex, uint32_t> first(buffers_.end_index(), end);
    IndexVector<BufferIndex, uint32_t> last(buffers_.end_index(), 0);
    IndexVector<BufferIndex, v1::Access::Kind> first_kind(buffers_.end_index());
    for (const v1::Access& access : new_.accesses()) {
      const BufferIndex b(access.buffer());
      if (last[b] < first[b]) first_kind[b] = access.kind();
      first[b] = std::min(first[b], access.instruction());
      last[b] = std::max(last[b], access.instruction());
    }
    for (const BufferIndex b : buffers_.indices()) {
      v1::Buffer& buffer = *new_.mutable_buffers(b.number());
      const Buffer& source = old_.buffers()[buffers_[b].source];
      const bool is_accessed = first[b] <= last[b];
      if (is_accessed && !KeepsOrder(buffers_[b].source, first_kind[b])) return OrderError(b);
      const InstructionIndex begin = PlaceOfEnd(buffers_[b], source.first);
      buffer.set_first(source.live_in ? 0 : std::min<uint32_t>(begin.number(), first[b]));
      const InstructionIndex behind = PlaceOfEnd(buffers_[b], source.last);
      buffer.set_last(source.live_out ? end : std::max<uint32_t>(behind.number(), last[b]));
      if (buffer.first() > buffer.last()) return OrderError(b);
    }
    return absl::OkStatus();
  }

  // Whether a buffer that began with a write still does. A live-in buffer begins with any access.
  bool KeepsOrder(BufferIndex source, v1::Access::Kind first_kind) const {
    const absl::Span<const AccessIndex> accesses = old_.AccessesOfBuffer(source);
    if (old_.buffers()[source].live_in || accesses.empty()) return true;
    return old_.MessageOf(accesses.front()).kind() == first_kind;
  }

  absl::Status OrderError(BufferIndex buffer) const {
    return absl::InvalidArgumentError(
        absl::StrCat("a copy would read buffer ", buffer, " before it is written"));
  }

  const Program& old_;
  const LayerMap& map_;
  const int32_t layer_;
  const int32_t count_;
  const IndexVector<InstructionIndex, ScheduledCopy> schedule_;
  v1::Program new_;
  IndexVector<InstructionIndex, InstructionIndex> place_of_;  // in the new schedule
  IndexVector<InstructionIndex, std::vector<InstructionIndex>> copy_places_;
  IndexVector<BufferIndex, NewBuffer> buffers_;  // of the new program
  std::vector<BufferIndex> first_copy_;          // for each chain of buffers; -1: none
};

absl::StatusOr<Program> RepeatLayer(const Program& program, const LayerMap& map, int32_t layer,
                                    int32_t count, const std::string& name) {
  absl::StatusOr<v1::Program> repeated = Repeater(program, map, layer, count).Run();
  if (!repeated.ok()) return repeated.status();
  repeated->set_name(name);
  SealProgram(*repeated);
  return Program::FromProto(*std::move(repeated));
}

absl::Status NoLayers(const Program& program) {
  return absl::InvalidArgumentError(absl::StrCat(
      program.proto().name(), ": expected three or more layers of equal instructions, found none"));
}

// The length of the program with `count` copies of the layer that has the most instructions.
absl::Status CheckLength(const Program& program, const LayerMap& map, int32_t count) {
  const std::vector<int32_t> layers = map.LayersByRepeatability();
  if (layers.empty()) return absl::OkStatus();
  const int64_t copied = std::ssize(map.RepeatableInstructions(layers.front()));
  const int64_t length = program.instruction_count() + copied * count;
  if (length <= kMostInstructions) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(program.proto().name(), ": expected at most ",
                                                 kMostInstructions, " instructions, found ",
                                                 length));
}

// Copies the layer that has the most instructions, or the next best one where that is impossible.
absl::StatusOr<Program> RepeatSomeLayer(const Program& program, const LayerMap& map, int32_t count,
                                        const std::string& name) {
  if (program.proto().collectives_size() > 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        program.proto().name(), ": expected a program without asynchronous collectives, found ",
        program.proto().collectives_size()));
  }
  MMZ_RETURN_IF_ERROR(CheckLength(program, map, count));
  absl::Status first_error = NoLayers(program);
  bool is_first = true;
  for (const int32_t layer : map.LayersByRepeatability()) {
    absl::StatusOr<Program> repeated = RepeatLayer(program, map, layer, count, name);
    if (repeated.ok()) return repeated;
    if (std::exchange(is_first, false)) {
      first_error = absl::InvalidArgumentError(
          absl::StrCat(program.proto().name(), ": ", repeated.status().message()));
    }
  }
  return first_error;
}

// The number of layers of the model in one layer of the map. The instructions outside of layers
// count for the layers, too, so that the share is too small, but not by half.
int32_t ModelLayersIn(const Program& program, const LayerMap& map, int32_t model_layers) {
  const std::vector<int32_t> layers = map.LayersByRepeatability();
  if (layers.empty()) return 0;
  const auto repeated = static_cast<double>(map.RepeatableInstructions(layers.front()).size());
  const double of_model = static_cast<double>(program.instruction_count()) / model_layers;
  return std::max<int32_t>(1, static_cast<int32_t>(RoundToZero(repeated / of_model + 0.5)));
}

}  // namespace

absl::StatusOr<Program> WithModelLayers(const Program& program, int32_t from, int32_t to,
                                        const std::string& name) {
  if (from < 1 || to <= from) {
    return absl::InvalidArgumentError(
        absl::StrCat(program.proto().name(), ": expected more than ", from, " layers, found ", to));
  }
  const LayerMap map = FindLayers(program);
  const int32_t step = ModelLayersIn(program, map, from);
  if (step == 0) return NoLayers(program);
  if ((to - from) % step != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        program.proto().name(), ": expected ", from, " layers and a multiple of ", step,
        ", since the compiler fuses instructions of ", step, " layers; found ", to));
  }
  return RepeatSomeLayer(program, map, (to - from) / step, name);
}

}  // namespace mallocmuzero
