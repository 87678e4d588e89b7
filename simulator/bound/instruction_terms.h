// The part of the dual that instructions have: the most that one instruction saves when each of its
// accesses pays for fast memory.

#ifndef MALLOCMUZERO_SIMULATOR_BOUND_INSTRUCTION_TERMS_H_
#define MALLOCMUZERO_SIMULATOR_BOUND_INSTRUCTION_TERMS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "simulator/core/program.h"

namespace mallocmuzero::bound {

// A choice of accesses of one instruction, and what it is worth.
struct InstructionChoice {
  double worth = 0;       // cycles of all executions, after paying
  double idle_bytes = 0;  // bytes that copies can move during one execution
};

// Immutable. For an instruction i, a set S of its accesses and prices p, with C(i, S) the cycles of
// one execution:
//   worth(S) = executions x (C(i, {}) - C(i, S)) - sum of p(a) over a in S
//              + idle_price x IdleBytes(i, S)
// `Best` finds the largest worth. Instructions with many accesses that may be in fast memory have
// too many sets to try; for them `Best` returns an upper bound of the largest worth.
class InstructionTerms {
 public:
  // Most sets that are listed in all (256 MiB). No program of the corpus comes near it.
  static constexpr size_t kMostSets = size_t{1} << 24;

  // `executions` of each instruction; 0 for those whose cycles do not count. An instruction whose
  // sets would exceed `most_sets` counts as one with many accesses.
  InstructionTerms(const Program& program, IndexSpan<InstructionIndex, const double> executions,
                   size_t most_sets = kMostSets);

  // `access_prices` has the price of each access of the program, in cycles. Adds 1 to `chosen` of
  // each chosen access; where the worth is a bound, adds the share of the access that the bound
  // takes. Accesses that may never be in fast memory are not chosen.
  InstructionChoice Best(InstructionIndex instruction, double idle_price,
                         IndexSpan<AccessIndex, const double> access_prices,
                         IndexSpan<AccessIndex, double> chosen) const;

  // The cycles that all instructions save if fast memory holds every tensor; a bound on them where
  // `Best` gives one.
  double most_saved() const { return most_saved_; }

 private:
  // An instruction whose sets of accesses are all listed.
  struct Listed {
    uint32_t first = 0;  // index into saved_ and idle_ of the empty set
    uint32_t count = 0;  // of the accesses that vary; element m of the list is the set with mask m
  };

  // An instruction with an upper bound on its savings: the lesser of `most_saved` and the sum of
  // the savings of the accesses in fast memory.
  struct Enveloped {
    double most_saved = 0;
    double idle_bytes = 0;  // with every access in HBM, at most
  };

  struct Term {
    uint32_t first_varying = 0;  // index into varying_
    uint32_t varying_count = 0;
    bool listed = true;
    Listed list;
    Enveloped envelope;
  };

  void AddListed(const Program& program, InstructionIndex instruction, double executions,
                 Term& term);
  void AddEnveloped(const Program& program, InstructionIndex instruction, double executions,
                    Term& term);
  InstructionChoice BestOfList(const Term& term, double idle_price,
                               IndexSpan<AccessIndex, const double> access_prices,
                               IndexSpan<AccessIndex, double> chosen) const;
  InstructionChoice BestOfEnvelope(const Term& term, double idle_price,
                                   IndexSpan<AccessIndex, const double> access_prices,
                                   IndexSpan<AccessIndex, double> chosen) const;

  double most_saved_ = 0;
  IndexVector<InstructionIndex, Term> terms_;  // one for each instruction
  std::vector<AccessIndex> varying_;           // indices of accesses
  std::vector<double> saved_;                  // cycles of all executions, for each listed set
  std::vector<double> idle_;                   // bytes of one execution, for each listed set
  std::vector<double> envelope_savings_;  // one for each element of varying_; 0 if it is listed
  std::vector<double> bytes_;             // traffic of one execution, of each element of varying_
};

}  // namespace mallocmuzero::bound

#endif  // MALLOCMUZERO_SIMULATOR_BOUND_INSTRUCTION_TERMS_H_
