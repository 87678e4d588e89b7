// One compiled module, read and analysed, with the steps that become instructions of a program.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_ANALYSIS_ANALYZED_MODULE_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_ANALYSIS_ANALYZED_MODULE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "simulator/core/program_types.h"
#include "simulator/hlo/module.h"
#include "simulator/import/analysis/dataflow.h"
#include "simulator/import/analysis/schedule.h"
#include "simulator/import/analysis/traffic.h"

namespace mallocmuzero {

// A step that becomes an instruction of the program: a loop marker, or an instruction that takes
// time, moves bytes, or starts or ends an asynchronous collective. Other forwarding instructions
// and asynchronous operations are left out.
struct PricedStep {
  int32_t step = 0;  // index into Schedule::steps
  const hlo::Instruction* instruction = nullptr;
  int64_t execution_count = 1;
  int32_t loop = -1;  // innermost enclosing loop, index into Schedule::loops; -1: none
  ArrayTraffic traffic;
  double link_bytes = 0;  // of a collective (CountLinkBytes)
};

// An asynchronous collective. Steps are indices into Schedule::steps.
struct AsyncCollective {
  int32_t start = 0;
  int32_t done = 0;  // the number of steps if the program does not wait for it
  double link_bytes = 0;
  // The storages of its operands and results, ascending. A loop between start and done that carries
  // them adds those of its parameters, roots and results.
  std::vector<int32_t> storages;
};

// The results of AnalyzeModule. Not movable, because they point into each other.
struct AnalyzedModule {
  std::string path;
  hlo::Module module;
  Schedule schedule;  // points into `module`
  Dataflow flow;
  std::vector<PricedStep> priced;
  std::vector<AsyncCollective> async_collectives;  // ordered by start
  // For each step of the schedule: the number of priced steps before it. If the step is a priced
  // step, this is its own index in `priced`, else the index of the next priced step.
  std::vector<int32_t> priced_at_or_after;

  // The step of the schedule that a priced step is.
  const Step& StepOf(const PricedStep& priced_step) const {
    return schedule.steps[priced_step.step];
  }
  // The kind of instruction that a priced step becomes.
  InstructionKind KindOf(const PricedStep& priced_step) const {
    const Step::Kind kind = StepOf(priced_step).kind;
    if (kind == Step::Kind::kLoopBegin) return InstructionKind::kLoopBegin;
    if (kind == Step::Kind::kLoopEnd) return InstructionKind::kLoopEnd;
    return priced_step.instruction->estimated_cycles ? InstructionKind::kEstimated
                                                     : InstructionKind::kModelled;
  }

  AnalyzedModule() = default;
  AnalyzedModule(const AnalyzedModule&) = delete;
  AnalyzedModule& operator=(const AnalyzedModule&) = delete;
};

// Reads and parses a file (plain or zstd) of HLO text or of one of XLA's messages;
// hlo/read_module.h tells them apart. Bytes of text that are not UTF-8 become '?', because names go
// into messages. Errors for text name file, line and column. Errors for XLA's messages name the
// instruction, or the place in the text that the message is printed as.
absl::StatusOr<hlo::Module> ReadModule(const std::string& path);

// The same for the decompressed bytes of such a file. Errors name the file by `name`.
absl::StatusOr<hlo::Module> ParseModuleBytes(std::string bytes, const std::string& name);

// Analyses a module. `path` is used in error messages. InvalidArgument if FlattenSchedule or
// Dataflow::Analyze refuse the module, an instruction moves or computes more than a program may
// contain, or asynchronous collectives have more than 4 million arrays.
absl::StatusOr<std::unique_ptr<AnalyzedModule>> AnalyzeModule(hlo::Module module, std::string path,
                                                              const InPlaceHints& hints);

// The last part of a path, as UTF-8.
std::string BaseName(absl::string_view path);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_ANALYSIS_ANALYZED_MODULE_H_
