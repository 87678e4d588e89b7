// Writes the instructions of one computation anew, in the order in which they run.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_COMPUTATION_WRITER_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_COMPUTATION_WRITER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "mallocmuzero/xla/hlo.pb.h"
#include "simulator/place/module_editor.h"

namespace mallocmuzero::place {

class ComputationWriter {
 public:
  // Takes the instructions out of `computation`, which must outlive the writer, as must `editor`.
  ComputationWriter(ModuleEditor& editor, xla::HloComputationProto& computation);

  // The instruction of that name as it was, or nullptr.
  const xla::HloInstructionProto* Original(absl::string_view name) const;

  // Whether a control dependency begins or ends at the instruction.
  bool HasControlDependency(const xla::HloInstructionProto& original) const;

  // Appends an instruction that runs after all appended before. If one of its id has been appended
  // already, it gets a new id and a new name. Returns its id.
  int64_t Append(xla::HloInstructionProto instruction);

  // Appends a new instruction; its name begins with `opcode`.
  int64_t AppendNew(absl::string_view opcode, xla::ShapeProto shape,
                    absl::Span<const int64_t> operands);

  // An appended instruction. Valid until the next is appended.
  xla::HloInstructionProto& Written(int64_t id) { return written_[written_by_id_.at(id)]; }

  // The shape of an appended instruction. Valid until the next is appended.
  const xla::ShapeProto& ShapeOf(int64_t id) const;

  // An element of a tuple: a get-tuple-element of each is appended once. `named`, if not null, is
  // the original to take the name of.
  int64_t Element(int64_t tuple, absl::Span<const int32_t> index,
                  const xla::HloInstructionProto* named);

  // A tuple of the elements, appended once for each list of elements.
  int64_t Tuple(absl::Span<const int64_t> elements, const xla::HloInstructionProto* named);

  // `source` seen with another shape; the memory space is the source's.
  int64_t Bitcast(int64_t source, const xla::ShapeProto& shape,
                  const xla::HloInstructionProto* named);

  // Moves what was appended into the computation, with its root, program shape and schedule.
  void Finish(int64_t root);

 private:
  ModuleEditor& editor_;
  xla::HloComputationProto& computation_;
  std::vector<xla::HloInstructionProto> originals_;
  absl::flat_hash_map<std::string, int> original_by_name_;
  absl::flat_hash_set<int64_t> control_predecessors_;
  std::vector<xla::HloInstructionProto> written_;
  absl::flat_hash_map<int64_t, int> written_by_id_;
  absl::flat_hash_map<std::pair<int64_t, int32_t>, int64_t> elements_;
  absl::flat_hash_map<std::vector<int64_t>, int64_t> tuples_;
  absl::flat_hash_map<std::pair<int64_t, std::string>, int64_t> bitcasts_;  // by source and shape
};

}  // namespace mallocmuzero::place

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_COMPUTATION_WRITER_H_
