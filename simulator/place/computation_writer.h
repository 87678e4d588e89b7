// Writes the instructions of one computation again, in the order in which they run.

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

// Collects the new instructions of one computation.
class ComputationWriter {
 public:
  // Moves the instructions out of `computation`. `computation` and `editor` must outlive the
  // writer.
  ComputationWriter(ModuleEditor& editor, xla::HloComputationProto& computation);

  // The instruction of that name before the placement, or nullptr if there is none.
  const xla::HloInstructionProto* Original(absl::string_view name) const;

  // True if a control dependency begins or ends at the instruction.
  bool HasControlDependency(const xla::HloInstructionProto& original) const;

  // Appends an instruction that runs after all instructions appended before. If an instruction with
  // its id has been appended already, it gets a new id and a new name. Returns its id.
  int64_t Append(xla::HloInstructionProto instruction);

  // Appends a new instruction, whose name begins with `opcode`. Returns its id.
  int64_t AppendNew(absl::string_view opcode, xla::ShapeProto shape,
                    absl::Span<const int64_t> operands);

  // An appended instruction. The reference is valid until the next one is appended.
  xla::HloInstructionProto& Written(int64_t id) { return written_[written_by_id_.at(id)]; }

  // The shape of an appended instruction. The reference is valid until the next one is appended.
  const xla::ShapeProto& ShapeOf(int64_t id) const;

  // The id of a get-tuple-element for the element of a tuple. It is appended at the first call and
  // reused by later ones. If `named` is not null, it takes the name of this original instruction.
  int64_t Element(int64_t tuple, absl::Span<const int32_t> index,
                  const xla::HloInstructionProto* named);

  // The id of a tuple of the elements, appended once for each list of elements. `named` as for
  // Element.
  int64_t Tuple(absl::Span<const int64_t> elements, const xla::HloInstructionProto* named);

  // The id of a bitcast of `source` to another shape; the memory space is that of the source.
  // `named` as for Element.
  int64_t Bitcast(int64_t source, const xla::ShapeProto& shape,
                  const xla::HloInstructionProto* named);

  // Moves the appended instructions into the computation, and sets its root, program shape and
  // schedule.
  void Finish(int64_t root);

 private:
  // Appends a copy of `named` with this shape and these operands, or as AppendNew if it is null.
  int64_t AppendNamed(const xla::HloInstructionProto* named, absl::string_view opcode,
                      xla::ShapeProto shape, absl::Span<const int64_t> operands);

  ModuleEditor& editor_;
  xla::HloComputationProto& computation_;
  std::vector<xla::HloInstructionProto> originals_;
  absl::flat_hash_map<std::string, int> original_by_name_;
  absl::flat_hash_set<int64_t> control_predecessors_;
  std::vector<xla::HloInstructionProto> written_;
  absl::flat_hash_map<int64_t, int> written_by_id_;
  absl::flat_hash_map<std::pair<int64_t, int32_t>, int64_t> elements_;
  absl::flat_hash_map<std::vector<int64_t>, int64_t> tuples_;
  // keys are source and shape
  absl::flat_hash_map<std::pair<int64_t, std::string>, int64_t> bitcasts_;
};

}  // namespace mallocmuzero::place

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_COMPUTATION_WRITER_H_
