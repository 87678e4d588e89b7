// Rewrites a module message: finds computations, and gives out free ids and names.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_MODULE_EDITOR_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_MODULE_EDITOR_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "mallocmuzero/xla/hlo.pb.h"

namespace mallocmuzero::place {

class ModuleEditor {
 public:
  explicit ModuleEditor(xla::HloModuleProto module);

  // The computation of that id or name, or nullptr. Stays valid as long as the module does.
  xla::HloComputationProto* FindComputation(int64_t id);
  xla::HloComputationProto* FindComputation(absl::string_view name);

  // An id that no instruction of the module has in the bits that XLA keeps. If two instructions of
  // a computation differed only in their upper bits, XLA would find several roots.
  int64_t NewId() { return ++last_id_; }

  // `stem` with a number behind it; no instruction of the module has that name.
  std::string NewName(absl::string_view stem);

  // Prepares the fused computation of `fusion` for an edit of its own: if another instruction
  // calls it too, this one gets a copy, with the fusions inside copied as well.
  void OwnFusedComputation(xla::HloInstructionProto& fusion);

  xla::HloModuleProto& module() { return module_; }
  xla::HloModuleProto Take() && { return std::move(module_); }

 private:
  int64_t CopyComputation(int64_t id);
  void Index();

  xla::HloModuleProto module_;
  int64_t last_id_ = 0;  // the greatest number that an instruction has in its computation
  int64_t last_computation_id_ = 0;
  int64_t last_name_ = 0;
  absl::flat_hash_map<int64_t, int> computation_by_id_;  // index into the module's computations
  absl::flat_hash_map<std::string, int> computation_by_name_;
  absl::flat_hash_set<std::string> names_;  // of instructions and computations
  absl::flat_hash_set<int64_t> owned_;      // fused computations that were handed out
};

}  // namespace mallocmuzero::place

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_MODULE_EDITOR_H_
