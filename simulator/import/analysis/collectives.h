// Collectives: operations by which the devices of one program exchange data. This file counts what
// they move over the links between chips, which the compiler gives no estimate for.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_ANALYSIS_COLLECTIVES_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_ANALYSIS_COLLECTIVES_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "mallocmuzero/v1/hardware.pb.h"
#include "simulator/hlo/module.h"

namespace mallocmuzero {

// True for an instruction that starts an asynchronous collective, except a fusion.
bool IsAsyncCollectiveStart(const hlo::Instruction& instruction);

// True for a custom-call-start whose computation has a collective in it. The compiler for TPU7x
// lets a SparseCore run collectives in this way.
bool StartsOffloadedCollective(const hlo::Module& module, const hlo::Instruction& instruction);

// The start of the asynchronous collective that begins at `instruction`, which must be in
// `computation`; null if none does. It is the instruction itself, or, where an async-update brings
// the operands of an offloaded collective (BindsOperands), the start before that. Fusions begin
// none.
const hlo::Instruction* StartOfCollectiveAt(const hlo::Module& module,
                                            const hlo::Computation& computation,
                                            const hlo::Instruction& instruction);

// True for an all-gather-start or a collective-permute-start. Its tuple names its operands, its
// results and contexts, so that it is known where its arrays are. These starts, and their dones,
// are instructions of the program.
bool StatesItsArrays(const hlo::Instruction& start);

// True for the done of such a start. `done` must be in `computation`.
bool EndsStatedCollective(const hlo::Computation& computation, const hlo::Instruction& done);

// On v5e the compiler writes an asynchronous collective as a chain of fusions. The first one starts
// it, the last one waits for it, and those between them compute something else meanwhile. Each has
// the collective in it, with the same channel_id.
enum class CollectiveFusion : uint8_t { kNone, kStart, kDone };

// The part of an instruction in such a chain; kNone if it neither starts nor ends one.
CollectiveFusion CollectiveFusionOf(const hlo::Module& module, const hlo::Instruction& instruction);

// The channel_id of the first collective in the computation that a fusion calls; empty if there is
// none.
absl::string_view ChannelOfFusion(const hlo::Module& module, const hlo::Instruction& fusion);

// The number of devices in a group of a collective. It comes from replica_groups, which has several
// forms (simulator/hlo/print_groups.h); the first group counts if their sizes differ. nullopt if
// the instruction does not say, as when all devices form one group.
absl::optional<int64_t> GroupSize(const hlo::Instruction& collective);

// Bytes that one execution of `instruction`, which must be in `computation`, carries past each
// device of a ring. Both directions count together: a ring sends half of an array each way. With n
// devices in a group, they are these shares:
//   all-gather, collective-broadcast   (n-1)/n of the result
//   reduce-scatter                     (n-1)/n of the operand
//   all-reduce                         twice (n-1)/n of the operand: a reduce-scatter, a gather
//   all-to-all, ragged-all-to-all      floor(n^2/4)/n of the operand: a transfer passes about n/4
//                                      links
//   collective-permute                 twice the operand: it goes one way to the next device
// The operand is what is sent, without an operand that the result overwrites and without offsets.
// Tiles are padded, as in CountTraffic. A fusion has the bytes of the collectives in it, and an
// all-reduce of which it only slices a part counts as a reduce-scatter. An asynchronous start has
// the bytes of its operation. 0 for all other instructions.
double CountLinkBytes(const hlo::Module& module, const hlo::Computation& computation,
                      const hlo::Instruction& instruction);

// Cycles that the links take for `link_bytes`, at most 2^53; 0 if the rate of the chip's links is
// not known.
double CyclesOfLinks(double link_bytes, const v1::Hardware& hardware);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_ANALYSIS_COLLECTIVES_H_
