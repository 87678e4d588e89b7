#include "simulator/import/latency/latency_fit.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/sha256.h"
#include "base/size32.h"
#include "simulator/import/analysis/collectives.h"
#include "simulator/import/latency/savings_fit.h"
#include "simulator/import/matching/match.h"

namespace mallocmuzero {
namespace {

// The mean of the estimates seen for one set of accesses.
struct Mean {
  double sum = 0;
  int count = 0;
  double value() const { return sum / count; }
};

using ObservedSets = std::map<uint64_t, Mean>;  // ascending by set

// Estimates for members of one class under the same set count as equal if they differ by less than
// this share. Members with another estimate get exceptions.
constexpr double kSameCycles = 1e-9;

// The saving of a byte written to fast memory, relative to that of a byte read from it, where
// nothing else is known. Over the corpus, having all reads of an instruction in fast memory gives
// nearly the whole saving, and having all writes there nearly none, because writes drain while the
// next block is computed (docs/cost-model.md).
constexpr double kWriteWeight = 0.2;

// A copy does nothing but read and write, so that both count the same.
constexpr absl::string_view kCopy = "copy";

// The savings of a class are fitted to fewer sets than this, because that takes time in the cube of
// their number. Classes of the corpus have up to 144.
constexpr size_t kMostFittedSets = 1000;

double WeightOf(absl::string_view opcode, v1::Access::Kind kind) {
  if (kind == v1::Access::READ || opcode == kCopy) return 1;
  return kind == v1::Access::WRITE ? kWriteWeight : (1 + kWriteWeight) / 2;
}

class ClassFitter {
 public:
  // `bytes`: traffic of each access.
  // `traffic_cycles`: for each access the weighted cycles of its traffic at full HBM bandwidth.
  // `usual_share`: the share of these cycles that fast memory saves elsewhere in the program.
  // `compute_cycles`: the time to compute; no placement is faster.
  ClassFitter(const ObservedSets& observed, std::vector<double> bytes,
              std::vector<double> traffic_cycles, double usual_share, double compute_cycles)
      : observed_(observed),
        bytes_(std::move(bytes)),
        traffic_cycles_(std::move(traffic_cycles)),
        usual_share_(usual_share),
        compute_cycles_(compute_cycles) {
    for (const auto& [set, mean] : observed_) seen_fast_ |= set;
  }

  void FitInto(v1::LatencyClass& target) {
    const auto all_hbm = observed_.find(0);
    double highest = 0;
    double lowest = observed_.begin()->second.value();
    for (const auto& [set, mean] : observed_) {
      highest = std::max(highest, mean.value());
      lowest = std::min(lowest, mean.value());
    }
    const double base = all_hbm != observed_.end() ? all_hbm->second.value() : highest;
    target.set_base_cycles(base);
    const Savings savings = FitSavings(base);
    const double unseen = Unseen(savings.of_one);
    target.set_floor_cycles(std::min(lowest, std::max(compute_cycles_, lowest - unseen)));
    target.set_ceiling_cycles(highest);
    target.mutable_savings_cycles()->Add(savings.of_one.begin(), savings.of_one.end());
    target.mutable_pair_savings_cycles()->Add(savings.of_pairs.begin(), savings.of_pairs.end());
  }

 private:
  bool SeenFast(size_t k) const { return (seen_fast_ >> k & 1) != 0; }

  // Cycles that the accesses which no compile had in fast memory may save below the lowest estimate
  // seen.
  double Unseen(const std::vector<double>& savings) const {
    double cycles = 0;
    for (size_t k = 0; k < savings.size(); ++k) {
      if (!SeenFast(k)) cycles += savings[k];
    }
    return cycles;
  }

  // The share of the traffic's cycles that fast memory saved, over all observations of the class.
  double FitScale(double base) const {
    double saved = 0;
    double possible = 0;
    for (const auto& [set, mean] : observed_) {
      saved += base - mean.value();
      for (size_t k = 0; k < traffic_cycles_.size(); ++k) {
        if (set >> k & 1) possible += traffic_cycles_[k];
      }
    }
    return possible > 0 ? saved / possible : usual_share_;
  }

  // Fits savings. The expected saving of an access is its traffic's cycles times FitScale, or times
  // the usual share if no compile had the access in fast memory.
  Savings FitSavings(double base) const {
    const double scale = FitScale(base);
    std::vector<double> expected;
    for (size_t k = 0; k < traffic_cycles_.size(); ++k) {
      expected.push_back((SeenFast(k) ? scale : usual_share_) * traffic_cycles_[k]);
    }
    // Takes each `step`th set. An odd step does not leave out all sets that have some access.
    const size_t step =
        observed_.size() < kMostFittedSets ? 1 : (observed_.size() / kMostFittedSets + 1) | 1;
    std::vector<SeenSaving> seen;
    size_t number = 0;
    for (const auto& [set, mean] : observed_) {
      if (number++ % step == 0) seen.push_back({set, base - mean.value()});
    }
    return mallocmuzero::FitSavings(seen, expected, bytes_);
  }

  const ObservedSets& observed_;
  std::vector<double> bytes_;
  std::vector<double> traffic_cycles_;
  double usual_share_;
  double compute_cycles_;
  uint64_t seen_fast_ = 0;  // accesses that at least one compile had in fast memory
};

class TableFitter {
 public:
  TableFitter(const v1::Program& program, const LatencyClasses& classes,
              absl::Span<const Placement> placements, int left_out,
              const std::function<bool()>& stop)
      : program_(program),
        classes_(classes),
        placements_(placements),
        left_out_(left_out),
        stop_(stop),
        by_class_(classes.representative.size()),
        by_instruction_(program.instructions_size()) {}

  absl::StatusOr<v1::LatencyTable> Run() && {
    Collect();
    FitUsualShare();
    for (size_t c = 0; c < by_class_.size(); ++c) {
      if (stop_()) return absl::CancelledError("the import was cancelled");
      AddClass(c);
    }
    for (int i = 0; i < program_.instructions_size(); ++i) AddInstruction(i);
    return std::move(table_);
  }

 private:
  // Collects observations. If compiles of placed modules have seen a set of accesses, other
  // compiles are not used for that set.
  void Collect() {
    CollectFrom(/*of_placed_modules=*/true);
    const std::vector<ObservedSets> of_placed_modules = by_class_;
    CollectFrom(/*of_placed_modules=*/false, of_placed_modules);
  }

  void CollectFrom(bool of_placed_modules, absl::Span<const ObservedSets> known = {}) {
    for (size_t p = 0; p < placements_.size(); ++p) {
      if (p == left_out_) continue;
      if (placements_[p].of_placed_module != of_placed_modules) continue;
      for (int i = 0; i < program_.instructions_size(); ++i) {
        const auto& placed = placements_[p].instructions[i];
        if (!placed || !placed->cycles) continue;
        const uint32_t c = classes_.class_of[i];
        if (!known.empty() && known[c].contains(placed->fast_accesses)) continue;
        for (Mean* mean :
             {&by_class_[c][placed->fast_accesses], &by_instruction_[i][placed->fast_accesses]}) {
          mean->sum += *placed->cycles;
          ++mean->count;
        }
      }
    }
  }

  // The share of the traffic's cycles that fast memory saved, over all classes and observations,
  // clamped to [0, 1].
  void FitUsualShare() {
    double saved = 0;
    double possible = 0;
    for (size_t c = 0; c < by_class_.size(); ++c) {
      const auto base = by_class_[c].find(0);
      if (base == by_class_[c].end()) continue;
      const v1::Instruction& instruction = program_.instructions(classes_.representative[c]);
      for (const auto& [set, mean] : by_class_[c]) {
        saved += base->second.value() - mean.value();
        for (uint32_t k = 0; k < instruction.access_count(); ++k) {
          if (set >> k & 1) possible += TrafficCycles(instruction, k);
        }
      }
    }
    usual_share_ = possible > 0 ? std::clamp(saved / possible, 0.0, 1.0) : 0;
  }

  // Cycles of an access's traffic at full HBM bandwidth, weighted by the kind of the access.
  double TrafficCycles(const v1::Instruction& instruction, uint32_t k) const {
    const v1::Access& access = AccessOf(instruction, k);
    return WeightOf(instruction.opcode(), access.kind()) *
           static_cast<double>(access.bytes_accessed()) / program_.hardware().hbm_bytes_per_cycle();
  }

  const v1::Access& AccessOf(const v1::Instruction& instruction, uint32_t k) const {
    return program_.accesses(instruction.first_access() + k);
  }

  void AddClass(size_t c) {
    v1::LatencyClass& added = *table_.add_classes();
    added.set_flops(classes_.flops[c]);
    const ObservedSets& observed = by_class_[c];
    const v1::Instruction& instruction = program_.instructions(classes_.representative[c]);
    if (observed.empty()) {
      added.set_modelled(true);
      added.set_link_cycles(CyclesOfLinks(classes_.link_bytes[c], program_.hardware()));
      for (uint32_t k = 0; k < instruction.access_count(); ++k) added.add_savings_cycles(0);
      return;
    }
    std::vector<double> bytes;
    std::vector<double> traffic_cycles;
    for (uint32_t k = 0; k < instruction.access_count(); ++k) {
      bytes.push_back(static_cast<double>(AccessOf(instruction, k).bytes_accessed()));
      traffic_cycles.push_back(TrafficCycles(instruction, k));
    }
    for (const auto& [set, mean] : observed) {
      v1::ObservedLatency& latency = *added.add_observed();
      latency.set_fast_accesses(set);
      latency.set_cycles(mean.value());
    }
    ClassFitter(observed, std::move(bytes), std::move(traffic_cycles), usual_share_,
                classes_.flops[c] / program_.hardware().flops_per_cycle())
        .FitInto(added);
  }

  void AddInstruction(int i) {
    v1::InstructionLatency& added = *table_.add_instructions();
    const uint32_t c = classes_.class_of[i];
    added.set_latency_class(c);
    v1::LatencyClass& latency_class = *table_.mutable_classes(c);
    latency_class.set_members(latency_class.members() + 1);
    for (const auto& [set, mean] : by_instruction_[i]) {
      const double of_class = by_class_[c].at(set).value();
      if (std::abs(mean.value() - of_class) <= kSameCycles * of_class) continue;
      v1::ObservedLatency& exception = *added.add_exceptions();
      exception.set_fast_accesses(set);
      exception.set_cycles(mean.value());
    }
  }

  const v1::Program& program_;
  const LatencyClasses& classes_;
  absl::Span<const Placement> placements_;
  int left_out_;
  const std::function<bool()>& stop_;
  double usual_share_ = 0;
  std::vector<ObservedSets> by_class_;
  std::vector<ObservedSets> by_instruction_;
  v1::LatencyTable table_;
};

}  // namespace

LatencyClasses ClassifyInstructions(const v1::Program& program, const AnalyzedModule& all_hbm) {
  LatencyClasses classes;
  Signatures signatures(all_hbm);
  absl::flat_hash_map<std::string, uint32_t> class_of_key;  // keys are SHA-256
  for (int i = 0; i < program.instructions_size(); ++i) {
    const PricedStep& priced = all_hbm.priced[i];
    const Step& step = all_hbm.StepOf(priced);
    std::string key =
        step.kind == Step::Kind::kInstruction ? signatures.Of(priced) : std::string("marker");
    const v1::Instruction& instruction = program.instructions(i);
    for (uint32_t k = 0; k < instruction.access_count(); ++k) {
      const v1::Access& access = program.accesses(instruction.first_access() + k);
      absl::StrAppend(&key, "|", access.kind());
      for (const v1::Position& position : access.positions()) {
        absl::StrAppend(&key, ",", position.operand());
        for (uint32_t index : position.tuple_index()) absl::StrAppend(&key, ".", index);
      }
    }
    const auto [found, added] = class_of_key.try_emplace(Sha256(key), Size32(class_of_key));
    classes.class_of.push_back(found->second);
    if (!added) continue;
    classes.representative.push_back(i);
    classes.link_bytes.push_back(priced.link_bytes);
    classes.flops.push_back(step.kind == Step::Kind::kInstruction
                                ? CountFlops(all_hbm.module,
                                             all_hbm.schedule.ComputationOf(step.instance),
                                             *priced.instruction)
                                : 0);
  }
  return classes;
}

absl::StatusOr<v1::LatencyTable> FitLatencyTable(const v1::Program& program,
                                                 const LatencyClasses& classes,
                                                 absl::Span<const Placement> placements,
                                                 int left_out, const std::function<bool()>& stop) {
  return TableFitter(program, classes, placements, left_out, stop).Run();
}

}  // namespace mallocmuzero
