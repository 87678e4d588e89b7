// The program under one limit of scoped memory. The limit decides tiles and fusions, so every limit
// has its own compile with everything in HBM, its own latency table and its own mappings.

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

// A mapping and the module in which it is placed.
struct PlacedProposal {
  Program program;  // as it was when the mapping was found
  Mapping mapping;
  std::string module;  // a serialised HloModuleProto; empty if round.error says why
  v1::PlacedRound round;
};

// Bytes by which the compiler's "... Exceeded vmem capacity by 12.32M." says that a module is too
// large; 0 if `message` says something else.
int64_t ExcessBytes(absl::string_view message);

class PlacedVariant {
 public:
  // `all_hbm_path` names the compile with everything in HBM under the limit. `default_path` names
  // the compiler's own placement under the limit; it may be empty. A `scoped_limit_bytes` of 0 is
  // the limit that the request's options have. Returns the errors of reading the modules.
  // `request` must outlive the variant.
  static absl::StatusOr<PlacedVariant> Create(const PlacedSearchRequest& request,
                                              std::string all_hbm_path, std::string default_path,
                                              int64_t scoped_limit_bytes);

  // Imports the program from all compiles so far.
  absl::StatusOr<Program> Import() const;

  // Searches for a mapping, places it and checks the placed module. If the module cannot express
  // the mapping, the proposal has an error instead of a module.
  absl::StatusOr<PlacedProposal> Propose(uint32_t round);

  // Places a random mapping instead: a sample for the latency table.
  absl::StatusOr<PlacedProposal> ProposeSample(uint32_t round);

  // Takes the compiler's answer to a proposal. A compiled module is a sample for the next import;
  // after a refusal the next proposal needs less memory. Completes proposal.round.
  absl::Status Learn(const v1::CompiledProgram& compiled, PlacedProposal& proposal);

  int64_t scoped_limit_bytes() const { return scoped_limit_bytes_; }

  // Cycles of the fastest module so far.
  absl::optional<double> best_cycles() const { return best_cycles_; }

  // Whether more rounds are not worth their time.
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
  int64_t memory_bytes_ = 0;  // for tensors in the next round
  std::vector<std::string> placed_paths_;
  absl::optional<double> best_cycles_;
  double promised_cycles_ = 0;  // of the last round that was compiled
  int rounds_without_gain_ = 0;
  int rounds_refused_ = 0;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_OPTIMIZE_PLACED_VARIANT_H_
