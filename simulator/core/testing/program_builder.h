// Builds small valid programs for tests and benchmarks.

#ifndef MALLOCMUZERO_SIMULATOR_CORE_TESTING_PROGRAM_BUILDER_H_
#define MALLOCMUZERO_SIMULATOR_CORE_TESTING_PROGRAM_BUILDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "mallocmuzero/v1/program.pb.h"
#include "simulator/core/program.h"

namespace mallocmuzero::testing {

// A chip with round numbers: 1024 bytes of fast memory in S(3), aligned to 16; HBM 10 bytes/cycle;
// fast memory reads 100 and writes 50 bytes/cycle; 1000 flops/cycle; 1 GHz.
v1::Hardware SmallHardware();

// One access of an instruction that will be added. Make it with Read, Write or Update.
struct AccessSpec {
  BufferIndex buffer = 0;
  v1::Access::Kind kind = v1::Access::READ;
  double savings = 0;           // cycles saved if the access is in fast memory
  int64_t bytes_accessed = -1;  // -1: as many as the buffer has
};

AccessSpec Read(BufferIndex buffer, double savings = 0, int64_t bytes_accessed = -1);
AccessSpec Write(BufferIndex buffer, double savings = 0, int64_t bytes_accessed = -1);
AccessSpec Update(BufferIndex buffer, double savings = 0, int64_t bytes_accessed = -1);

struct BufferSpec {
  bool live_in = false;
  bool live_out = false;
  bool pinned_to_hbm = false;
};

// Usage:
//   ProgramBuilder builder;
//   const BufferIndex weights = builder.AddBuffer(100, {.live_in = true});
//   const BufferIndex result = builder.AddBuffer(50, {.live_out = true});
//   builder.AddInstruction(40, {Read(weights, 8), Write(result, 4)});
//   const Program program = builder.Build();
//
// The builder derives live ranges. A live range starts at the first access, or at 0 if the buffer
// is live in. It ends at the last access, or at the end of the program if the buffer is live out.
// It extends to the end of each loop that accesses a buffer defined before the loop.
class ProgramBuilder {
 public:
  explicit ProgramBuilder(v1::Hardware hardware = SmallHardware());

  // The chip, which may be changed before Build.
  v1::Hardware& hardware();

  // The functions below return the index of what they add.
  BufferIndex AddBuffer(int64_t bytes, BufferSpec spec = {});

  // Adds an instruction that takes `all_hbm_cycles` with everything in HBM. Savings are subtracted
  // down to 0 cycles.
  InstructionIndex AddInstruction(double all_hbm_cycles,
                                  const std::vector<AccessSpec>& accesses = {});

  // Adds an instruction that is priced by the roofline.
  InstructionIndex AddModelled(double flops, const std::vector<AccessSpec>& accesses);

  // Opens a loop: everything added until EndLoop is in it. Returns the loop's index; loops may
  // nest.
  LoopIndex BeginLoop(int64_t trip_count);
  void EndLoop();

  uint32_t AddCarriedGroup(LoopIndex loop, BufferIndex initial, BufferIndex parameter,
                           BufferIndex root, BufferIndex result);

  // A collective that starts just before one instruction and is waited for just before another one,
  // which may be the number of all instructions. `buffers` are those of its arrays that may be in
  // fast memory, ascending. Calls must be in the order of `start`.
  ProgramBuilder& AddCollective(InstructionIndex start, InstructionIndex done, double cycles,
                                const std::vector<BufferIndex>& buffers = {});

  // These set details of an instruction that was added before.
  ProgramBuilder& SetName(InstructionIndex instruction, const std::string& name);
  ProgramBuilder& SetFixedHbmBytes(InstructionIndex instruction, int64_t bytes);
  ProgramBuilder& SetBounds(InstructionIndex instruction, double floor, double ceiling);
  // Calls for one instruction must be in ascending order of `fast_mask`.
  ProgramBuilder& AddObserved(InstructionIndex instruction, uint64_t fast_mask, double cycles);
  ProgramBuilder& AddException(InstructionIndex instruction, uint64_t fast_mask, double cycles);

  // The sealed message. A test that changes the message must seal it again.
  v1::Program BuildProto() const;

  // The checked program. Ends the process with the reason if the program is not valid.
  Program Build() const;

 private:
  InstructionIndex NextInstruction(const std::string& opcode, v1::Instruction::Kind kind);
  InstructionIndex AddWithAccesses(v1::Instruction::Kind kind,
                                   const std::vector<AccessSpec>& accesses);

  v1::Instruction& InstructionAt(InstructionIndex index);
  v1::LatencyClass& ClassOf(InstructionIndex index);  // of an instruction that was added

  v1::Program proto_;
  std::vector<LoopIndex> open_loops_;
};

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_SIMULATOR_CORE_TESTING_PROGRAM_BUILDER_H_
