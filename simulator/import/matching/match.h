// Matches the instructions of a program with those of another compile of the same function.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_MATCHING_MATCH_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_MATCHING_MATCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "mallocmuzero/v1/program.pb.h"
#include "simulator/import/analysis/analyzed_module.h"

namespace mallocmuzero {

// Hashes of everything on which the compiler's estimate for an instruction depends: opcode, shapes
// with layouts but without memory spaces, attributes, for a fusion the computation, and for a
// kernel (Pallas) the flops that its author states. Names, metadata and literals are left out. Each
// computation and each instruction is hashed only once.
class Signatures {
 public:
  // `analyzed` must outlive the signatures.
  explicit Signatures(const AnalyzedModule& analyzed)
      : analyzed_(analyzed), of_computation_(analyzed.module.computations.size()) {}

  // 32 raw bytes. The compiler mostly gives two instructions with equal bytes the same cycles under
  // the same placement; kernels of other code are the exception.
  std::string Of(const PricedStep& priced);

 private:
  void AppendInstruction(const hlo::Instruction& instruction, std::string& text);
  const std::string& OfComputation(hlo::ComputationIndex index);

  const AnalyzedModule& analyzed_;
  std::vector<std::string> of_computation_;  // empty if not computed yet
  absl::flat_hash_map<const hlo::Instruction*, std::string> of_instruction_;
};

// Which instructions of a program and priced steps of another compile are the same.
struct Match {
  std::vector<int32_t> other_of_base;  // for each instruction of the program; -1: not found
  std::vector<int32_t> base_of_other;  // for each priced step of the other module; -1: not found
  // Lacks unmatched_in_all_hbm_cycles (see UnmatchedCycles).
  v1::MatchReport report;
};

// Matches instructions by name if opcode and shapes agree. Matches the others in schedule order by
// framework name, opcode and shapes. Loop markers match by the name of the `while`. The program
// must have a source.
Match MatchModule(const v1::Program& program, const AnalyzedModule& other);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_MATCHING_MATCH_H_
