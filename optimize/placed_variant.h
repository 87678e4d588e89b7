// The program under one limit of scoped memory. The limit determines tiles and fusions, so every
// limit has its own compile with everything in HBM, its own latency table and its own mappings.

#ifndef MALLOCMUZERO_OPTIMIZE_PLACED_VARIANT_H_
#define MALLOCMUZERO_OPTIMIZE_PLACED_VARIANT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "mallocmuzero/v1/compile.pb.h"
#include "mallocmuzero/v1/optimize.pb.h"
#include "mallocmuzero/xla/hlo.pb.h"
#include "optimize/placed_search_request.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

// A mapping, and the module in which it is placed.
struct PlacedProposal {
  Program program;  // the program from which the mapping was found
  Mapping mapping;
  // a serialised HloModuleProto; empty if round.error has the reason why there is none
  std::string module;
  v1::PlacedRound round;
};

// The number of bytes in the compiler's message "... Exceeded vmem capacity by 12.32M."; vmem and
// cmem are fast memory. 0 if `message` is another one, such as that of HBM.
int64_t ExcessBytes(absl::string_view message);

// Proposes mappings of the program under one limit of scoped memory, and learns from the compiles
// of their modules. Not thread-safe.
class PlacedVariant {
 public:
  // `all_hbm_path` is the compile with everything in HBM under the limit. `default_path` is the
  // compile by default under the limit; it may be empty. If `scoped_limit_bytes` is 0, the limit is
  // that of the request's options. `request` must outlive the variant. Returns errors of reading
  // the modules.
  static absl::StatusOr<PlacedVariant> Create(const PlacedSearchRequest& request,
                                              std::string all_hbm_path, std::string default_path,
                                              int64_t scoped_limit_bytes);

  // Imports the program from all compiles so far.
  absl::StatusOr<Program> Import() const;

  // Searches for a mapping, places it and checks the placed module. If a module cannot express the
  // mapping, the proposal has an error instead of a module.
  absl::StatusOr<PlacedProposal> Propose(uint32_t round);

  // Places a random mapping instead of a good one, as a sample for the latency table.
  absl::StatusOr<PlacedProposal> ProposeSample(uint32_t round);

  // Takes the compiler's answer to a proposal, and completes proposal.round. A compiled module
  // becomes a sample for the next import; after a refusal the next proposal uses less memory.
  absl::Status Learn(const v1::CompiledProgram& compiled, PlacedProposal& proposal);

  // The limit of scoped memory; 0: the limit that the request's options have.
  int64_t scoped_limit_bytes() const { return scoped_limit_bytes_; }

  // Cycles of the fastest module so far; nullopt if there is none.
  absl::optional<double> best_cycles() const { return best_cycles_; }

  // True if further rounds are not worth their time.
  bool is_exhausted() const;

 private:
  explicit PlacedVariant(const PlacedSearchRequest& request) : request_(&request) {}

  absl::Status ReadAllHbm();
  absl::StatusOr<PlacedProposal> Begin(uint32_t round) const;
  absl::Status Find(PlacedProposal& proposal) const;
  void Place(PlacedProposal& proposal) const;
  void MakeRoom(absl::string_view message);

  const PlacedSearchRequest* request_;
  int64_t scoped_limit_bytes_ = 0;
  std::string all_hbm_path_;
  std::string default_path_;
  xla::HloModuleProto all_hbm_;
  int64_t memory_bytes_ = 0;  // bytes for tensors in the next round
  std::vector<std::string> placed_paths_;
  absl::optional<double> best_cycles_;
  double promised_cycles_ = 0;  // of the last round that was compiled
  int rounds_without_gain_ = 0;
  int rounds_refused_ = 0;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_OPTIMIZE_PLACED_VARIANT_H_
