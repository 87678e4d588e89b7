#include "simulator/core/latency_table.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/size32.h"
#include "base/status_macros.h"
#include "simulator/core/index_fields.h"
#include "simulator/core/roofline.h"

namespace mallocmuzero {
namespace {

// The cycles of an instruction with at most this many accesses are tabulated for every set of
// accesses.
constexpr uint32_t kMaxDenseAccesses = 6;

// Most cycles tabulated in all (32 MiB). The cycles of instructions beyond this bound are computed
// on demand.
constexpr size_t kMaxDenseCycles = size_t{1} << 22;

// Cycles and flops above this bound are no real estimate. The bound keeps sums finite.
constexpr double kMaxNumber = 9007199254740992.0;  // 2^53

absl::Status Error(absl::string_view field, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat("latency.", field, ": ", expected, " expected"));
}

bool InRange(double value, double low) { return value >= low && value <= kMaxNumber; }

absl::Status CheckObserved(const google::protobuf::RepeatedPtrField<v1::ObservedLatency>& observed,
                           absl::string_view field) {
  for (int i = 0; i < observed.size(); ++i) {
    if (!InRange(observed[i].cycles(), 0)) {
      return Error(absl::StrCat(field, "[", i, "].cycles"), "0 to 2^53");
    }
    if (i > 0 && observed[i].fast_accesses() <= observed[i - 1].fast_accesses()) {
      return Error(absl::StrCat(field, "[", i, "].fast_accesses"), "ascending order");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSavings(const google::protobuf::RepeatedField<double>& savings,
                          absl::string_view field) {
  for (int k = 0; k < savings.size(); ++k) {
    if (!InRange(savings[k], -kMaxNumber)) {
      return Error(absl::StrCat(field, "[", k, "]"), "-2^53 to 2^53");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckClass(const v1::LatencyClass& cls, absl::string_view field) {
  MMZ_RETURN_IF_ERROR(CheckObserved(cls.observed(), absl::StrCat(field, ".observed")));
  if (!InRange(cls.base_cycles(), 0))
    return Error(absl::StrCat(field, ".base_cycles"), "0 to 2^53");
  if (!InRange(cls.flops(), 0)) return Error(absl::StrCat(field, ".flops"), "0 to 2^53");
  if (!InRange(cls.link_cycles(), 0)) {
    return Error(absl::StrCat(field, ".link_cycles"), "0 to 2^53");
  }
  if (!InRange(cls.floor_cycles(), 0)) {
    return Error(absl::StrCat(field, ".floor_cycles"), "0 to 2^53");
  }
  if (!InRange(cls.ceiling_cycles(), cls.floor_cycles())) {
    return Error(absl::StrCat(field, ".ceiling_cycles"), "floor_cycles to 2^53");
  }
  MMZ_RETURN_IF_ERROR(CheckSavings(cls.savings_cycles(), absl::StrCat(field, ".savings_cycles")));
  return CheckSavings(cls.pair_savings_cycles(), absl::StrCat(field, ".pair_savings_cycles"));
}

// Sum of the savings of all pairs of accesses that are both in `fast_mask`.
double PairSavings(const double* pairs, uint64_t fast_mask) {
  double sum = 0;
  for (uint64_t rest = fast_mask; rest != 0; rest &= rest - 1) {
    const int k = __builtin_ctzll(rest);
    const double* of_k = pairs + PairIndex(0, k);
    for (uint64_t below = fast_mask & ((uint64_t{1} << k) - 1); below != 0; below &= below - 1) {
      sum += of_k[__builtin_ctzll(below)];
    }
  }
  return sum;
}

}  // namespace

class LatencyTable::Builder {
 public:
  Builder(const v1::LatencyTable& proto,
          IndexSpan<InstructionIndex, const Instruction> instructions,
          IndexSpan<AccessIndex, const Access> accesses, const v1::Hardware& hardware)
      : proto_(proto), instructions_(instructions), accesses_(accesses), hardware_(hardware) {}

  absl::StatusOr<LatencyTable> Build() {
    if (proto_.instructions_size() != instructions_.size()) {
      return Error("instructions", absl::StrCat(instructions_.size(), " entries"));
    }
    for (int c = 0; c < proto_.classes_size(); ++c) {
      MMZ_RETURN_IF_ERROR(CheckClass(proto_.classes(c), absl::StrCat("classes[", c, "]")));
    }
    shared_.resize(proto_.classes_size());
    for (const InstructionIndex i : instructions_.indices()) {
      MMZ_RETURN_IF_ERROR(AddInstruction(i));
    }
    return std::move(table_);
  }

 private:
  // Data that all instructions of one class share. The first instruction of the class fills it in.
  struct Shared {
    bool has_row = false;
    Row row;
    bool has_observations = false;
    uint32_t first_observation = 0;
    bool has_savings = false;
    uint32_t first_saving = 0;
  };

  absl::Status AddInstruction(InstructionIndex i) {
    const v1::InstructionLatency& latency = ElementOf(proto_.instructions(), i);
    const std::string field = absl::StrCat("instructions[", i, "]");
    if (latency.latency_class() >= proto_.classes_size()) {
      return Error(absl::StrCat(field, ".latency_class"),
                   absl::StrCat("an index below ", proto_.classes_size()));
    }
    if (IsMarker(instructions_[i].kind)) {
      table_.rows_.push_back(ZeroRow());
      return absl::OkStatus();
    }
    MMZ_RETURN_IF_ERROR(CheckObserved(latency.exceptions(), absl::StrCat(field, ".exceptions")));
    const v1::LatencyClass& cls = proto_.classes(latency.latency_class());
    const uint64_t all = AllAccesses(instructions_[i]);
    // The masks ascend, so the last one is the largest.
    if (!latency.exceptions().empty() && latency.exceptions().rbegin()->fast_accesses() > all) {
      return Error(absl::StrCat(field, ".exceptions"), "bits of the instruction's own accesses");
    }
    if (!cls.observed().empty() && cls.observed().rbegin()->fast_accesses() > all) {
      return Error(absl::StrCat("classes[", latency.latency_class(), "].observed"),
                   absl::StrCat("bits of the accesses of instruction ", i, ", which has ",
                                instructions_[i].access_count));
    }
    if (!cls.modelled() && cls.savings_cycles_size() != instructions_[i].access_count) {
      return Error(absl::StrCat("classes[", latency.latency_class(), "].savings_cycles"),
                   absl::StrCat("one for each of the ", instructions_[i].access_count,
                                " accesses of instruction ", i));
    }
    const size_t pairs = PairIndex(0, instructions_[i].access_count);
    if (!cls.pair_savings_cycles().empty() && cls.pair_savings_cycles_size() != pairs) {
      return Error(absl::StrCat("classes[", latency.latency_class(), "].pair_savings_cycles"),
                   absl::StrCat("none, or one for each of the ", pairs,
                                " pairs of accesses of instruction ", i));
    }
    AddRow(i, latency, cls);
    return absl::OkStatus();
  }

  void AddRow(InstructionIndex i, const v1::InstructionLatency& latency,
              const v1::LatencyClass& cls) {
    Shared& shared = shared_[latency.latency_class()];
    const bool alike = !cls.modelled() && latency.exceptions().empty();
    if (alike && shared.has_row) {
      table_.rows_.push_back(shared.row);
      return;
    }
    const Formula formula = MakeFormula(i, latency, cls, shared);
    const Row row = MakeRow(formula, instructions_[i].access_count);
    table_.rows_.push_back(row);
    if (alike) {
      shared.has_row = true;
      shared.row = row;
    }
  }

  Formula MakeFormula(InstructionIndex i, const v1::InstructionLatency& latency,
                      const v1::LatencyClass& cls, Shared& shared) {
    Formula formula;
    formula.exception_count = latency.exceptions_size();
    formula.first_exception = AddObserved(latency.exceptions());
    if (!shared.has_observations) {
      shared.has_observations = true;
      shared.first_observation = AddObserved(cls.observed());
    }
    formula.first_observation = shared.first_observation;
    formula.observation_count = cls.observed_size();
    formula.access_count = instructions_[i].access_count;
    if (cls.modelled()) {
      MakeRoofline(instructions_[i], cls, formula);
      return formula;
    }
    formula.base = cls.base_cycles();
    formula.floor = cls.floor_cycles();
    formula.ceiling = cls.ceiling_cycles();
    if (!shared.has_savings) {
      shared.has_savings = true;
      shared.first_saving = Size32<uint32_t>(table_.savings_);
      table_.savings_.insert(table_.savings_.end(), cls.savings_cycles().begin(),
                             cls.savings_cycles().end());
      table_.savings_.insert(table_.savings_.end(), cls.pair_savings_cycles().begin(),
                             cls.pair_savings_cycles().end());
    }
    formula.first_saving = shared.first_saving;
    formula.has_pairs = !cls.pair_savings_cycles().empty();
    return formula;
  }

  // Bytes of an access in fast memory. Half of an update's are read and half are written.
  static MovedBytes FastBytes(AccessKind kind, double bytes) {
    if (kind == AccessKind::kRead) return {.fast_read = bytes};
    if (kind == AccessKind::kWrite) return {.fast_written = bytes};
    return {.fast_read = bytes / 2, .fast_written = bytes / 2};
  }

  void MakeRoofline(const Instruction& instruction, const v1::LatencyClass& cls, Formula& formula) {
    formula.first_saving = Size32<uint32_t>(table_.savings_);
    const auto fixed = static_cast<double>(instruction.fixed_hbm_bytes);
    formula.base = CyclesToMove({.hbm = fixed}, hardware_);
    for (const Access& access :
         accesses_.Part(instruction.first_access, instruction.access_count)) {
      const auto bytes = static_cast<double>(access.bytes_accessed);
      const double in_hbm = CyclesToMove({.hbm = bytes}, hardware_);
      formula.base += in_hbm;
      table_.savings_.push_back(in_hbm - CyclesToMove(FastBytes(access.kind, bytes), hardware_));
    }
    formula.floor = std::max(CyclesToCompute(cls.flops(), hardware_), cls.link_cycles());
    formula.ceiling = std::numeric_limits<double>::infinity();
  }

  Row MakeRow(const Formula& formula, uint32_t access_count) {
    const size_t sets = size_t{1} << std::min(access_count, kMaxDenseAccesses);
    if (access_count > kMaxDenseAccesses || table_.dense_cycles_.size() + sets > kMaxDenseCycles) {
      table_.formulas_.push_back(formula);
      return {Size32<uint32_t>(table_.formulas_) - 1, /*dense=*/false};
    }
    const uint32_t first = Size32(table_.dense_cycles_);
    for (uint64_t mask = 0; mask < sets; ++mask) {
      table_.dense_cycles_.push_back(table_.SparseCycles(formula, mask));
    }
    return {first, /*dense=*/true};
  }

  Row ZeroRow() {
    if (!has_zero_row_) {
      has_zero_row_ = true;
      zero_row_ = MakeRow(Formula(), 0);
    }
    return zero_row_;
  }

  uint32_t AddObserved(const google::protobuf::RepeatedPtrField<v1::ObservedLatency>& observed) {
    const uint32_t first = Size32(table_.observed_);
    for (const v1::ObservedLatency& entry : observed) {
      table_.observed_.push_back({entry.fast_accesses(), entry.cycles()});
    }
    return first;
  }

  const v1::LatencyTable& proto_;
  const IndexSpan<InstructionIndex, const Instruction> instructions_;
  const IndexSpan<AccessIndex, const Access> accesses_;
  const v1::Hardware& hardware_;
  std::vector<Shared> shared_;  // one for each class
  bool has_zero_row_ = false;
  Row zero_row_;
  LatencyTable table_;
};

absl::StatusOr<LatencyTable> LatencyTable::FromProto(
    const v1::LatencyTable& proto, IndexSpan<InstructionIndex, const Instruction> instructions,
    IndexSpan<AccessIndex, const Access> accesses, const v1::Hardware& hardware) {
  return Builder(proto, instructions, accesses, hardware).Build();
}

double LatencyTable::SparseCycles(const Formula& formula, uint64_t fast_mask) const {
  const std::pair<uint32_t, uint32_t> ranges[] = {
      {formula.first_exception, formula.exception_count},
      {formula.first_observation, formula.observation_count}};
  for (const auto& [first, count] : ranges) {
    const auto begin = observed_.begin() + first;
    const auto end = begin + count;
    const auto found = std::lower_bound(
        begin, end, fast_mask,
        [](const Observed& entry, uint64_t mask) { return entry.fast_mask < mask; });
    if (found != end && found->fast_mask == fast_mask) return found->cycles;
  }
  double cycles = formula.base;
  const double* savings = savings_.data() + formula.first_saving;
  for (uint64_t rest = fast_mask; rest != 0; rest &= rest - 1) {
    cycles -= savings[__builtin_ctzll(rest)];
  }
  if (formula.has_pairs) cycles -= PairSavings(savings + formula.access_count, fast_mask);
  return std::clamp(cycles, formula.floor, formula.ceiling);
}

void LatencyTable::Include(const Observed& observed, LatencyEnvelope& envelope) {
  envelope.least_cycles = std::min(envelope.least_cycles, observed.cycles);
  envelope.most_cycles = std::max(envelope.most_cycles, observed.cycles);
  if (observed.fast_mask == 0) {
    envelope.base_cycles = std::min(envelope.base_cycles, observed.cycles);
    return;
  }
  double excess = envelope.base_cycles - observed.cycles;
  for (uint64_t rest = observed.fast_mask; rest != 0; rest &= rest - 1) {
    excess -= envelope.savings[__builtin_ctzll(rest)];
  }
  if (excess <= 0) return;
  const double share = excess / __builtin_popcountll(observed.fast_mask);
  for (uint64_t rest = observed.fast_mask; rest != 0; rest &= rest - 1) {
    envelope.savings[__builtin_ctzll(rest)] += share;
  }
}

LatencyEnvelope LatencyTable::DenseEnvelope(uint32_t first, uint32_t access_count) const {
  LatencyEnvelope envelope;
  envelope.least_cycles = envelope.base_cycles = envelope.most_cycles = dense_cycles_[first];
  envelope.savings.assign(access_count, 0);
  for (uint64_t mask = 1; mask < uint64_t{1} << access_count; ++mask) {
    Include({mask, dense_cycles_[first + mask]}, envelope);
  }
  return envelope;
}

LatencyEnvelope LatencyTable::FormulaEnvelope(const Formula& formula) const {
  LatencyEnvelope envelope;
  envelope.least_cycles = formula.floor;
  envelope.base_cycles = std::clamp(formula.base, formula.floor, formula.ceiling);
  const double* savings = savings_.data() + formula.first_saving;
  double most = formula.base;
  const size_t entries =
      formula.access_count + (formula.has_pairs ? PairIndex(0, formula.access_count) : 0);
  for (size_t k = 0; k < entries; ++k) most += std::max(0.0, -savings[k]);
  envelope.most_cycles = std::clamp(most, formula.floor, formula.ceiling);
  for (uint32_t k = 0; k < formula.access_count; ++k) {
    envelope.savings.push_back(std::max(0.0, savings[k]));
  }
  if (formula.has_pairs) {
    // A pair saves only if both accesses are in fast memory, so half of it for each is a bound.
    for (uint32_t k = 0; k < formula.access_count; ++k) {
      for (uint32_t j = 0; j < k; ++j) {
        const double half = std::max(0.0, savings[formula.access_count + PairIndex(j, k)]) / 2;
        envelope.savings[j] += half;
        envelope.savings[k] += half;
      }
    }
  }
  for (uint32_t e = 0; e < formula.exception_count; ++e) {
    Include(observed_[formula.first_exception + e], envelope);
  }
  for (uint32_t o = 0; o < formula.observation_count; ++o) {
    Include(observed_[formula.first_observation + o], envelope);
  }
  return envelope;
}

LatencyEnvelope LatencyTable::Envelope(InstructionIndex instruction, uint32_t access_count) const {
  const Row& row = rows_[instruction];
  return row.dense ? DenseEnvelope(row.first, access_count) : FormulaEnvelope(formulas_[row.first]);
}

}  // namespace mallocmuzero
