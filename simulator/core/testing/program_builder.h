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

// One access of an instruction to come. Make it with Read, Write or Update.
struct AccessSpec {
  uint32_t buffer = 0;
  v1::Access::Kind kind = v1::Access::READ;
  double savings = 0;           // cycles saved in fast memory
  int64_t bytes_accessed = -1;  // -1: the whole buffer
};

AccessSpec Read(uint32_t buffer, double savings = 0, int64_t bytes_accessed = -1);
AccessSpec Write(uint32_t buffer, double savings = 0, int64_t bytes_accessed = -1);
AccessSpec Update(uint32_t buffer, double savings = 0, int64_t bytes_accessed = -1);

struct BufferSpec {
  bool live_in = false;
  bool live_out = false;
  bool pinned_to_hbm = false;
};

// Usage:
//   ProgramBuilder builder;
//   const uint32_t weights = builder.AddBuffer(100, {.live_in = true});
//   const uint32_t result = builder.AddBuffer(50, {.live_out = true});
//   builder.AddInstruction(40, {Read(weights, 8), Write(result, 4)});
//   const Program program = builder.Build();
//
// Live ranges are derived: from the first access (0 if live in) to the last one (the end of the
// program if live out), and to the end of each loop that accesses a buffer defined before it.
class ProgramBuilder {
 public:
  explicit ProgramBuilder(v1::Hardware hardware = SmallHardware());

  // Hardware to adjust before Build.
  v1::Hardware& hardware();

  // The functions below return the index of what they add.
  uint32_t AddBuffer(int64_t bytes, BufferSpec spec = {});

  // An estimated instruction of `all_hbm_cycles`; savings apply down to 0 cycles.
  uint32_t AddInstruction(double all_hbm_cycles, const std::vector<AccessSpec>& accesses = {});

  // An instruction priced by the roofline.
  uint32_t AddModelled(double flops, const std::vector<AccessSpec>& accesses);

  // Everything added until EndLoop is in the loop. Returns the loop's index; loops may nest.
  uint32_t BeginLoop(int64_t trip_count);
  void EndLoop();

  uint32_t AddCarriedGroup(uint32_t loop, uint32_t initial, uint32_t parameter, uint32_t root,
                           uint32_t result);

  // Details of an instruction added before.
  ProgramBuilder& SetName(uint32_t instruction, const std::string& name);
  ProgramBuilder& SetFixedHbmBytes(uint32_t instruction, int64_t bytes);
  ProgramBuilder& SetBounds(uint32_t instruction, double floor, double ceiling);
  // Add in ascending order of `fast_mask`.
  ProgramBuilder& AddObserved(uint32_t instruction, uint64_t fast_mask, double cycles);
  ProgramBuilder& AddException(uint32_t instruction, uint64_t fast_mask, double cycles);

  // The message, sealed. BuildProto may be changed by the test and sealed again.
  v1::Program BuildProto() const;

  // The program; ends the process with the reason if it is not valid.
  Program Build() const;

 private:
  uint32_t NextInstruction(const std::string& opcode, v1::Instruction::Kind kind);
  uint32_t AddWithAccesses(v1::Instruction::Kind kind, const std::vector<AccessSpec>& accesses);

  v1::Program proto_;
  std::vector<uint32_t> open_loops_;
};

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_SIMULATOR_CORE_TESTING_PROGRAM_BUILDER_H_
