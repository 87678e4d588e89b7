#include "simulator/bound/instruction_terms.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "absl/types/span.h"
#include "base/size32.h"
#include "simulator/bound/aligned_bytes.h"
#include "simulator/core/simulate.h"

namespace mallocmuzero::bound {
namespace {

// Only instructions with at most this many accesses that vary have all their sets listed.
constexpr uint32_t kMaxListedAccesses = 12;

bool MayBeFast(const Program& program, const Access& access) {
  const Buffer& buffer = program.buffers()[access.buffer];
  return !buffer.pinned_to_hbm && buffer.bytes <= program.hardware().fast_memory_bytes();
}

// For each access the set of those before it that are of the same buffer: an instruction may both
// read and write one.
std::array<uint32_t, kMaxListedAccesses> SameBufferBefore(const Program& program,
                                                          absl::Span<const AccessIndex> accesses) {
  std::array<uint32_t, kMaxListedAccesses> before = {};
  for (size_t k = 0; k < accesses.size(); ++k) {
    const BufferIndex buffer = program.accesses()[accesses[k]].buffer;
    for (size_t j = 0; j < k; ++j) {
      if (program.accesses()[accesses[j]].buffer == buffer) before[k] |= uint32_t{1} << j;
    }
  }
  return before;
}

}  // namespace

InstructionTerms::InstructionTerms(const Program& program,
                                   IndexSpan<InstructionIndex, const double> executions,
                                   size_t most_sets) {
  terms_.reserve(program.instruction_count());
  for (const InstructionIndex i : program.instructions().indices()) {
    const Instruction& instruction = program.instructions()[i];
    Term term;
    term.first_varying = Size32(varying_);
    for (uint32_t k = 0; k < instruction.access_count; ++k) {
      const AccessIndex a = instruction.first_access + k;
      if (!MayBeFast(program, program.accesses()[a])) continue;
      varying_.push_back(a);
      bytes_.push_back(static_cast<double>(program.accesses()[a].bytes_accessed));
    }
    term.varying_count = Size32<uint32_t>(varying_) - term.first_varying;
    envelope_savings_.resize(varying_.size(), 0);
    term.listed = term.varying_count <= kMaxListedAccesses &&
                  saved_.size() + (size_t{1} << term.varying_count) <= most_sets;
    if (term.listed) {
      AddListed(program, i, executions[i], term);
    } else {
      AddEnveloped(program, i, executions[i], term);
    }
    terms_.push_back(term);
  }
}

void InstructionTerms::AddListed(const Program& program, InstructionIndex instruction,
                                 double executions, Term& term) {
  term.list.first = Size32(saved_);
  const AccessIndex first_access = program.instructions()[instruction].first_access;
  const double all_hbm = program.latency().Cycles(instruction, 0);
  const double capacity = AlignedCapacity(program.hardware());
  const auto same_buffer = SameBufferBefore(
      program, absl::MakeSpan(varying_).subspan(term.first_varying, term.varying_count));
  double most = 0;
  for (uint32_t set = 0; set < uint32_t{1} << term.varying_count; ++set) {
    uint64_t mask = 0;
    double bytes = 0;
    for (uint32_t k = 0; k < term.varying_count; ++k) {
      if ((set >> k & 1) == 0) continue;
      const AccessIndex a = varying_[term.first_varying + k];
      mask |= uint64_t{1} << (a - first_access);
      if ((set & same_buffer[k]) != 0) continue;
      bytes += AlignedBytes(program.hardware(), program.buffers()[program.accesses()[a].buffer]);
    }
    const double cycles = program.latency().Cycles(instruction, mask);
    most = std::max(most, executions * (all_hbm - cycles));
    if (bytes > capacity) {
      saved_.push_back(-std::numeric_limits<double>::infinity());
      idle_.push_back(0);
      continue;
    }
    saved_.push_back(executions * (all_hbm - cycles));
    idle_.push_back(IdleBytes(program, instruction, mask, cycles));
  }
  most_saved_ += most;
}

void InstructionTerms::AddEnveloped(const Program& program, InstructionIndex instruction,
                                    double executions, Term& term) {
  const Instruction& facts = program.instructions()[instruction];
  const LatencyEnvelope envelope = program.latency().Envelope(instruction, facts.access_count);
  const double all_hbm = program.latency().Cycles(instruction, 0);
  // The savings of the envelope count from its own base, which may be below the cycles with
  // everything in HBM. The difference is saved without any access.
  term.envelope.most_saved = executions * (all_hbm - envelope.least_cycles);
  for (uint32_t k = 0; k < term.varying_count; ++k) {
    const AccessIndex a = varying_[term.first_varying + k];
    envelope_savings_[term.first_varying + k] =
        executions * (envelope.savings[a - facts.first_access] + (all_hbm - envelope.base_cycles));
  }
  double sum = 0;
  for (uint32_t k = 0; k < term.varying_count; ++k) {
    sum += envelope_savings_[term.first_varying + k];
  }
  most_saved_ += std::min(term.envelope.most_saved, sum);
  double hbm_bytes = static_cast<double>(facts.fixed_hbm_bytes);
  for (const Access& access : program.AccessesOfInstruction(instruction)) {
    hbm_bytes += static_cast<double>(access.bytes_accessed);
  }
  term.envelope.idle_bytes =
      std::max(0.0, envelope.most_cycles * program.hardware().hbm_bytes_per_cycle() - hbm_bytes);
}

InstructionChoice InstructionTerms::Best(InstructionIndex instruction, double idle_price,
                                         IndexSpan<AccessIndex, const double> access_prices,
                                         IndexSpan<AccessIndex, double> chosen) const {
  const Term& term = terms_[instruction];
  return term.listed ? BestOfList(term, idle_price, access_prices, chosen)
                     : BestOfEnvelope(term, idle_price, access_prices, chosen);
}

InstructionChoice InstructionTerms::BestOfList(const Term& term, double idle_price,
                                               IndexSpan<AccessIndex, const double> access_prices,
                                               IndexSpan<AccessIndex, double> chosen) const {
  const uint32_t count = term.varying_count;
  const double* saved = saved_.data() + term.list.first;
  const double* idle = idle_.data() + term.list.first;
  // paid[set] is the price of a set: that of the set without its highest access, plus that access.
  std::array<double, size_t{1} << kMaxListedAccesses> paid;
  paid[0] = 0;
  for (uint32_t k = 0; k < count; ++k) {
    const double price = access_prices[varying_[term.first_varying + k]];
    const uint32_t high = uint32_t{1} << k;
    for (uint32_t rest = 0; rest < high; ++rest) paid[high | rest] = paid[rest] + price;
  }
  // Compilers make vector instructions of this loop, but not of one that also finds the set.
  const uint32_t sets = uint32_t{1} << count;
  double best_worth = saved[0] + idle_price * idle[0];
  for (uint32_t set = 0; set < sets; ++set) {
    paid[set] = saved[set] + idle_price * idle[set] - paid[set];
    best_worth = std::max(best_worth, paid[set]);
  }
  const uint32_t best = std::find(paid.begin(), paid.begin() + sets, best_worth) - paid.begin();
  for (uint32_t k = 0; k < count; ++k) {
    chosen[varying_[term.first_varying + k]] += best >> k & 1;
  }
  return {best_worth, idle[best]};
}

// The largest of min(most_saved, sum of savings) - sum of prices over fractions of accesses: a
// fractional knapsack, which takes the accesses with the lowest price for each cycle first.
InstructionChoice InstructionTerms::BestOfEnvelope(
    const Term& term, double idle_price, IndexSpan<AccessIndex, const double> access_prices,
    IndexSpan<AccessIndex, double> chosen) const {
  struct Item {
    double saving;
    double price;
    double bytes;
    AccessIndex access;
  };
  std::array<Item, kMaxAccessesPerInstruction> items = {};
  auto end = items.begin();
  for (uint32_t k = 0; k < term.varying_count; ++k) {
    const uint32_t v = term.first_varying + k;
    const double price = access_prices[varying_[v]] - idle_price * bytes_[v];
    // It is never worth its price. It must not be sorted: without a price and a saving, it would
    // count as equal to all others, and their order would be wrong.
    if (price >= 0 && price >= envelope_savings_[v]) continue;
    *end++ = {envelope_savings_[v], price, bytes_[v], varying_[v]};
  }
  std::sort(items.begin(), end,
            [](const Item& a, const Item& b) { return a.price * b.saving < b.price * a.saving; });
  InstructionChoice choice = {idle_price * term.envelope.idle_bytes, term.envelope.idle_bytes};
  double room = term.envelope.most_saved;
  const auto take = [&](const Item& item, double share, double saved) {
    choice.worth += saved - share * item.price;
    choice.idle_bytes += share * item.bytes;
    chosen[item.access] += share;
  };
  for (auto item = items.begin(); item != end; ++item) {
    if (item->price < 0) {  // it pays even without a saving
      const double saved = std::min(room, item->saving);
      room -= saved;
      take(*item, 1, saved);
    }
  }
  for (auto item = items.begin(); item != end; ++item) {
    if (item->price < 0 || room <= 0) continue;
    const double saved = std::min(room, item->saving);
    room -= saved;
    take(*item, saved / item->saving, saved);
  }
  return choice;
}

}  // namespace mallocmuzero::bound
