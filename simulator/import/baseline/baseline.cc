#include "simulator/import/baseline/baseline.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "simulator/import/analysis/live_range.h"
#include "simulator/import/analysis/price_module.h"
#include "simulator/import/analysis/traffic.h"
#include "simulator/import/baseline/copy_steps.h"
#include "simulator/import/baseline/pack_mapping.h"
#include "simulator/import/matching/placement.h"
#include "simulator/import/matching/translate.h"

namespace mallocmuzero {
namespace {

constexpr int32_t kNever = -1;

// Pairs of an access and a stay of its buffer that are looked at. Programs of compilers need far
// fewer; a text of a few kilobytes can call for any number.
constexpr int64_t kMostStayLooks = int64_t{1} << 28;

// A storage of the default module that is in fast memory. It becomes one interval of the mapping.
// Times are instructions of the program.
struct Stay {
  int32_t buffer = -1;
  int32_t first = std::numeric_limits<int32_t>::max();
  int32_t last = -1;
  int32_t copy_in_start = kNever;
  int32_t copy_in_done = kNever;
  int32_t copy_out_start = kNever;
  int32_t copy_out_done = kNever;
  std::vector<std::pair<int32_t, int64_t>> slices;  // slices of the copy in: start, bytes
  bool cross_program_prefetch = false;
  bool used = false;  // an access of the program uses this stay
};

class BaselineMaker {
 public:
  BaselineMaker(const v1::Program& program, const AnalyzedModule& other, const Match& match)
      : program_(program),
        other_(other),
        flow_(other.flow),
        match_(match),
        buffer_of_value_(TranslateValues(program, other, match)),
        ranges_(ComputeLiveRanges(other)),
        carried_(CarriedBuffers(program_)),
        stays_(other.flow.storage_count()),
        accesses_of_(program.buffers_size()),
        writes_of_(program.buffers_size()) {
    MapTimes();
    for (int32_t a = 0; a < program.accesses_size(); ++a) {
      const v1::Access& access = program.accesses(a);
      accesses_of_[access.buffer()].push_back(a);
      if (access.kind() == v1::Access::READ) continue;
      const int32_t time = access.instruction();
      writes_of_[access.buffer()].push_back(time);
    }
  }

  v1::Baseline Run() && {
    FindStays();
    FindCopies();
    PlaceAccesses();
    PlaceUnmatchedAccesses();
    AddIntervals();
    baseline_.set_packed(PackMapping(program_, *baseline_.mutable_mapping()));
    if (!baseline_.packed()) {
      baseline_.add_notes("the default's intervals could not be packed into addresses");
    }
    SetPrice();
    return std::move(baseline_);
  }

 private:
  int32_t Fast() const { return program_.hardware().fast_memory_space(); }

  // Sets time_of_: for each priced step, the instruction that it or the next matched step matches.
  void MapTimes() {
    time_of_.resize(other_.priced.size());
    int32_t next = program_.instructions_size() - 1;
    for (size_t i = other_.priced.size(); i-- > 0;) {
      if (match_.base_of_other[i] >= 0) next = match_.base_of_other[i];
      time_of_[i] = next;
    }
  }

  int32_t TimeOfStep(int32_t step) const { return time_of_[PricedIndex(other_, step)]; }

  // The value from which copies, slices and ConcatBitcast made `value`.
  ValueId OriginOf(ValueId value) const {
    for (int hops = 0; hops < 64 && flow_.values()[value].copied_from >= 0; ++hops) {
      value = flow_.values()[value].copied_from;
    }
    return value;
  }

  // Finds the buffer of each stay: that of the value computed into it, or else of the copied value.
  void FindStays() {
    for (ValueId v = 0; v < flow_.values().size(); ++v) {
      const HloValue& value = flow_.values()[v];
      if (value.shape->layout.memory_space != Fast()) continue;
      Stay& stay = stays_[flow_.StorageOf(v)];
      const int32_t own = buffer_of_value_[v];
      if (own >= 0) stay.buffer = own;
    }
    FindStaysOfInitialValues();
    for (ValueId v = 0; v < flow_.values().size(); ++v) {
      const HloValue& value = flow_.values()[v];
      if (value.shape->layout.memory_space != Fast() || value.copied_from < 0) continue;
      Stay& stay = stays_[flow_.StorageOf(v)];
      const int32_t source = BufferOfStay(flow_.StorageOf(value.copied_from), OriginOf(v));
      if (stay.buffer < 0) stay.buffer = source;
      copied_in_.push_back({v, stay.buffer == source});
    }
    for (size_t s = 0; s < stays_.size(); ++s) {
      if (stays_[s].buffer < 0) continue;
      stays_[s].first = time_of_[ranges_[s].first];
      stays_[s].last = std::max(stays_[s].first, time_of_[ranges_[s].last]);
    }
  }

  // A copy to fast memory that the compiler made from a copy instruction gives a value that the
  // program lacks. If a loop starts with it, the stay gets the buffer of the loop's initial value.
  void FindStaysOfInitialValues() {
    absl::flat_hash_map<int32_t, int32_t> initial_of;  // the key is the buffer of the parameter
    for (const v1::CarriedGroup& group : program_.carried_groups()) {
      initial_of[group.parameter_buffer()] = group.initial_buffer();
    }
    for (const CarriedValue& carried : flow_.carried()) {
      const HloValue& initial = flow_.values()[carried.initial];
      if (initial.shape->layout.memory_space != Fast() || initial.copied_from < 0) continue;
      Stay& stay = stays_[flow_.StorageOf(carried.initial)];
      const auto found = initial_of.find(buffer_of_value_[carried.parameter]);
      if (stay.buffer < 0 && found != initial_of.end()) stay.buffer = found->second;
    }
  }

  int32_t BufferOfStay(int32_t storage, ValueId origin) const {
    return stays_[storage].buffer >= 0 ? stays_[storage].buffer : buffer_of_value_[origin];
  }

  void FindCopies() {
    const std::vector<int32_t> done_of_start = DoneOfStarts(other_.schedule);
    const std::vector<int32_t> step_of_value = StepOfValues(other_);
    for (const auto& [value, same_buffer] : copied_in_) {
      const int32_t step = step_of_value[value];
      Stay& stay = stays_[flow_.StorageOf(value)];
      if (stay.buffer < 0 || step < 0 || done_of_start[step] < 0) continue;
      if (other_.schedule.InstructionAt(other_.schedule.steps[step]).cross_program_prefetch_index) {
        stay.cross_program_prefetch = true;
        stay.first = 0;
        continue;
      }
      if (!same_buffer) continue;  // the compiler made it from a copy instruction of the program
      const int32_t start = TimeOfStep(step);
      const int32_t done = TimeOfStep(done_of_start[step]);
      const int64_t bytes = hlo::ShapeByteSize(*flow_.values()[value].shape);
      if (bytes == 0) continue;  // a piece that copies nothing
      stay.copy_in_start = stay.copy_in_start < 0 ? start : std::min(stay.copy_in_start, start);
      stay.slices.push_back({start, bytes});
      stay.copy_in_done = std::max(stay.copy_in_done, done);
    }
    for (ValueId v = 0; v < flow_.values().size(); ++v) {
      const HloValue& value = flow_.values()[v];
      const int32_t step = step_of_value[v];
      if (value.copied_from < 0 || value.shape->layout.memory_space == Fast() || step < 0) continue;
      Stay& stay = stays_[flow_.StorageOf(value.copied_from)];
      if (stay.buffer < 0 || done_of_start[step] < 0) continue;
      stay.copy_out_start = TimeOfStep(step);
      stay.copy_out_done = TimeOfStep(done_of_start[step]);
    }
  }

  // The stay that serves an access, found by its operands and outputs; -1 if it is in HBM.
  int32_t StayOf(const PricedStep& priced, const v1::Access& access) const {
    const Step& step = other_.StepOf(priced);
    for (const v1::Position& position : access.positions()) {
      if (!IsInFastMemory(other_, priced, position, Fast())) continue;
      const hlo::InstructionIndex index = position.operand() < 0
                                              ? step.instruction
                                              : priced.instruction->operands[position.operand()];
      const hlo::Shape& shape =
          other_.schedule.ComputationOf(step.instance).instructions[index].shape;
      const int32_t leaf = LeafOrdinal(
          shape, hlo::ShapeIndex(position.tuple_index().begin(), position.tuple_index().end()));
      if (leaf >= 0) return flow_.StorageOf(flow_.ValuesOf(step.instance, index)[leaf]);
    }
    return -1;
  }

  void Serve(int32_t access, Stay& stay) {
    in_fast_memory_[access] = true;
    const int32_t time = program_.accesses(access).instruction();
    stay.used = true;
    stay.last = std::max(stay.last, time);
    if (!stay.cross_program_prefetch) stay.first = std::min(stay.first, time);
    if (stay.copy_in_done > time) stay.copy_in_done = time;
  }

  void PlaceAccesses() {
    in_fast_memory_.assign(program_.accesses_size(), false);
    int foreign = 0;
    int pinned = 0;
    for (int32_t a = 0; a < program_.accesses_size(); ++a) {
      const v1::Access& access = program_.accesses(a);
      const int32_t priced = match_.other_of_base[access.instruction()];
      if (priced < 0) continue;
      const int32_t storage = StayOf(other_.priced[priced], access);
      if (storage < 0) continue;
      if (program_.collectives_size() > 0 && program_.buffers(access.buffer()).pinned_to_hbm()) {
        ++pinned;
        continue;
      }
      Stay& stay = stays_[storage];
      if (stay.buffer != access.buffer()) {
        ++foreign;
        // keeps the price right, although no interval can cover this access
        in_fast_memory_[a] = true;
        continue;
      }
      Serve(a, stay);
    }
    if (pinned > 0) {
      baseline_.add_notes(
          absl::StrCat(pinned, " accesses of the default are in fast memory, to ",
                       "arrays of collectives in flight; mappings leave them in HBM"));
    }
    if (foreign > 0) {
      baseline_.add_notes(absl::StrCat(
          foreign, " accesses of the default are in fast memory under another buffer"));
    }
  }

  // Places the accesses of instructions that the default module does not have, because the compiler
  // made a copy asynchronous. A write is in fast memory if a stay of its buffer begins with it; any
  // other access is if a stay of its buffer covers it.
  void PlaceUnmatchedAccesses() {
    std::vector<std::vector<int32_t>> stays_of(program_.buffers_size());
    for (int32_t s = 0; s < stays_.size(); ++s) {
      if (IsShown(stays_[s])) stays_of[stays_[s].buffer].push_back(s);
    }
    int64_t looks = 0;
    for (int32_t a = 0; a < program_.accesses_size(); ++a) {
      const v1::Access& access = program_.accesses(a);
      if (match_.other_of_base[access.instruction()] >= 0) continue;
      looks += std::ssize(stays_of[access.buffer()]);
      if (looks > kMostStayLooks) {
        baseline_.add_notes(absl::StrCat(
            "too many instructions that the default does not have: their accesses from ",
            "instruction ", access.instruction(), " on are left in HBM"));
        return;
      }
      for (int32_t s : stays_of[access.buffer()]) {
        if (IsServedBy(access, stays_[s])) Serve(a, stays_[s]);
      }
    }
  }

  // Whether a stay serves an access of an instruction that the default does not have.
  bool IsServedBy(const v1::Access& access, const Stay& stay) const {
    const int32_t time = access.instruction();
    if (access.kind() != v1::Access::WRITE) {
      return stay.first <= time && time <= stay.last && time >= stay.copy_in_done;
    }
    return stay.copy_in_start < 0 && !stay.cross_program_prefetch && time <= stay.first &&
           !HasWriteBetween(access.buffer(), time + 1, stay.first);
  }

  bool HasWriteBetween(uint32_t buffer, int32_t first, int32_t last) const {
    const std::vector<int32_t>& writes = writes_of_[buffer];
    const auto write = std::lower_bound(writes.begin(), writes.end(), first);
    return write != writes.end() && *write <= last;
  }

  // True if the stay becomes an interval: it serves an access, or a loop carries its value.
  bool IsShown(const Stay& stay) const {
    return stay.buffer >= 0 && (stay.used || carried_.contains(stay.buffer));
  }

  void AddIntervals() {
    v1::Mapping& mapping = *baseline_.mutable_mapping();
    mapping.set_solver("default");
    for (bool fast : in_fast_memory_) mapping.add_in_fast_memory(fast);
    std::vector<v1::Interval> intervals;
    for (const Stay& stay : stays_) {
      if (IsShown(stay)) intervals.push_back(MakeInterval(stay));
    }
    std::stable_sort(intervals.begin(), intervals.end(),
                     [](const v1::Interval& a, const v1::Interval& b) {
                       return std::pair(a.first(), a.buffer()) < std::pair(b.first(), b.buffer());
                     });
    for (v1::Interval& interval : intervals) *mapping.add_intervals() = std::move(interval);
  }

  v1::Interval MakeInterval(const Stay& stay) const {
    v1::Interval interval;
    interval.set_buffer(stay.buffer);
    const v1::Buffer& buffer = program_.buffers(stay.buffer);
    int32_t first = std::max<int32_t>(stay.first, buffer.first());
    int32_t last = std::min<int32_t>(stay.last, buffer.last());
    int32_t copied_in = kNever;
    if (stay.copy_in_start >= 0 && !stay.cross_program_prefetch) {
      copied_in = std::max(stay.copy_in_done, stay.copy_in_start);
      first = stay.copy_in_start;
      interval.set_copy_in_start(first);
      interval.set_copy_in_done(copied_in);
      AddSlices(stay, buffer.bytes(), interval);
      last = std::max(last, copied_in);
    }
    if (stay.copy_out_start >= 0) {
      const int32_t start = std::max(stay.copy_out_start, first);
      const int32_t done = std::max(stay.copy_out_done, start);
      interval.set_copy_out_start(start);
      interval.set_copy_out_done(done);
      // A piece may be copied out before a later piece is copied in.
      last = std::max({LastUse(stay, start), done - 1, copied_in});
    }
    interval.set_cross_program_prefetch(stay.cross_program_prefetch);
    interval.set_first(std::max(first, 0));
    interval.set_last(std::max(last, first));
    return interval;
  }

  // Adds the slices of a copy in that has several pieces, if the pieces fill the buffer exactly.
  static void AddSlices(const Stay& stay, int64_t buffer_bytes, v1::Interval& interval) {
    std::vector<std::pair<int32_t, int64_t>> slices = stay.slices;
    std::stable_sort(slices.begin(), slices.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    int64_t bytes = 0;
    for (const auto& [start, slice_bytes] : slices) bytes = SaturatingAdd(bytes, slice_bytes);
    if (slices.size() < 2 || bytes != buffer_bytes) return;
    for (const auto& [start, slice_bytes] : slices) {
      v1::CopySlice& slice = *interval.add_copy_in_slices();
      slice.set_start(
          std::clamp<uint32_t>(start, interval.copy_in_start(), interval.copy_in_done()));
      slice.set_bytes(slice_bytes);
    }
  }

  // The last access that the stay serves, but at least `not_before`. From then on, the stay's bytes
  // may be reused as soon as the copy out is done.
  int32_t LastUse(const Stay& stay, int32_t not_before) const {
    const std::vector<int32_t>& accesses = accesses_of_[stay.buffer];  // in the order of time
    const auto time_of = [this](int32_t access) -> int32_t {
      return program_.accesses(access).instruction();
    };
    auto access = std::upper_bound(
        accesses.begin(), accesses.end(), stay.last,
        [&](int32_t time, int32_t candidate) { return time < time_of(candidate); });
    while (access != accesses.begin()) {
      --access;
      const int32_t time = time_of(*access);
      if (time < stay.first) break;
      if (in_fast_memory_[*access]) return std::max(not_before, time);
    }
    return not_before;
  }

  void SetPrice() {
    const ModulePrice price = PriceSchedule(other_, program_.hardware());
    baseline_.set_estimated_cycles(price.estimated_cycles);
    baseline_.set_modelled_cycles(price.modelled_cycles);
    baseline_.set_stall_cycles(price.stall_cycles);
    baseline_.set_total_cycles(price.total_cycles());
  }

  const v1::Program& program_;
  const AnalyzedModule& other_;
  const Dataflow& flow_;
  const Match& match_;
  std::vector<int32_t> buffer_of_value_;  // for each value of the default module; -1: none
  std::vector<LiveRange> ranges_;         // for each storage of the default module
  absl::flat_hash_map<int32_t, int32_t> carried_;
  std::vector<Stay> stays_;                        // for each storage of the default module
  std::vector<std::vector<int32_t>> accesses_of_;  // of the program, for each buffer
  std::vector<std::vector<int32_t>> writes_of_;    // for each buffer: when it is written, ascending
  std::vector<int32_t> time_of_;
  // For each copy into fast memory: the value made, and whether source and stay share a buffer.
  std::vector<std::pair<ValueId, bool>> copied_in_;
  std::vector<bool> in_fast_memory_;  // for each access
  v1::Baseline baseline_;
};

}  // namespace

v1::Baseline MakeBaseline(const v1::Program& program, const AnalyzedModule& default_module,
                          const Match& match) {
  return BaselineMaker(program, default_module, match).Run();
}

}  // namespace mallocmuzero
