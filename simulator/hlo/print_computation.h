// Writes one computation of XLA's messages as HLO text.

#ifndef MALLOCMUZERO_SIMULATOR_HLO_PRINT_COMPUTATION_H_
#define MALLOCMUZERO_SIMULATOR_HLO_PRINT_COMPUTATION_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "mallocmuzero/xla/hlo.pb.h"

namespace mallocmuzero::hlo {

// A module with what calls need: where a computation stands, and which of them only wraps one
// instruction. Points into `proto`, which must outlive it.
struct ProtoModule {
  const xla::HloModuleProto& proto;
  size_t max_bytes;                                     // of the text
  absl::flat_hash_map<int64_t, int> computation_of_id;  // into proto.computations()
  // Of each computation its root if all other instructions are parameters, or else nullptr: what an
  // async-start that calls it is printed as.
  std::vector<const xla::HloInstructionProto*> wrapped;
};

// True for what the parser takes as a name: letters, digits, '_', '.' and '-', at most 4096.
bool IsPrintableName(absl::string_view name);

// True if an async-start that calls a computation whose `wrapped` is `root`, which may be nullptr,
// is printed as the instruction that it wraps.
bool IsPrintedInPlace(const xla::HloInstructionProto* root);

// Appends the computation with the number `index` in the module. InvalidArgument as PrintModule
// says, without the name of the computation.
absl::Status AppendComputation(const ProtoModule& module, int index, std::string& out);

}  // namespace mallocmuzero::hlo

#endif  // MALLOCMUZERO_SIMULATOR_HLO_PRINT_COMPUTATION_H_
