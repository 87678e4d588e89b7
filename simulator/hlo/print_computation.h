// Prints one computation of XLA's messages as HLO text.

#ifndef MALLOCMUZERO_SIMULATOR_HLO_PRINT_COMPUTATION_H_
#define MALLOCMUZERO_SIMULATOR_HLO_PRINT_COMPUTATION_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "mallocmuzero/xla/hlo.pb.h"

namespace mallocmuzero::hlo {

// A module, with indices for printing calls. Points into `proto`, which must outlive it.
struct ProtoModule {
  const xla::HloModuleProto& proto;
  size_t max_bytes;                                     // most bytes of the printed text
  absl::flat_hash_map<int64_t, int> computation_of_id;  // indices into proto.computations()
  // For each computation: its root if all other instructions are parameters, else nullptr. An
  // async-start that calls the computation may be printed as this root.
  std::vector<const xla::HloInstructionProto*> wrapped;
};

inline constexpr size_t kMaxNameBytes = 4096;

// True if the parser accepts `name` as a name: one to kMaxNameBytes letters, digits, '_', '.', '-'.
bool IsPrintableName(absl::string_view name);

// True if an async-start is printed as the instruction that it wraps. `root` is the `wrapped` of
// the computation that it calls, or nullptr.
bool IsPrintedInPlace(const xla::HloInstructionProto* root);

// Appends the computation with the number `index` in the module. InvalidArgument in the cases that
// PrintModule lists; the message does not name the computation.
absl::Status AppendComputation(const ProtoModule& module, int index, std::string& out);

}  // namespace mallocmuzero::hlo

#endif  // MALLOCMUZERO_SIMULATOR_HLO_PRINT_COMPUTATION_H_
