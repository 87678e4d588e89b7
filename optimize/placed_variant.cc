#include "optimize/placed_variant.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/file_io.h"
#include "base/message_file.h"
#include "base/rounding.h"
#include "base/status_macros.h"
#include "base/steady_clock.h"
#include "compiler/compile.h"
#include "optimize/checked_place.h"
#include "optimize/packed_solve.h"
#include "optimize/sample_mapping.h"
#include "simulator/core/simulate.h"
#include "simulator/hlo/module.h"
#include "simulator/import/analysis/analyzed_module.h"
#include "simulator/import/analysis/traffic.h"
#include "simulator/import/import.h"
#include "simulator/import/read_back.h"
#include "simulator/place/place.h"

namespace mallocmuzero {
namespace {

// A search ends after kRoundsWithoutGain rounds without gain. As long as the last promise is below
// kWorthTrying times the best cycles, it continues up to kRoundsOfPromises such rounds, because the
// compile of a mapping that was slower than promised improves the latency table.
constexpr int kRoundsWithoutGain = 2;
constexpr int kRoundsOfPromises = 4;
constexpr double kWorthTrying = 0.999;

constexpr int kRoundsRefused = 4;

// Bytes that are reserved because instructions of a placed module may take more scoped memory than
// those of the compile with everything in HBM.
constexpr int64_t kScopedMargin = 2 << 20;

// After a refusal, the next mapping gets less memory: less by the missing bytes, but at most by 1 /
// kLargestCut of the memory, and less by another 1 / kSpareShare.
constexpr int64_t kSpareShare = 256;
constexpr int64_t kLargestCut = 16;

int64_t MostScopedMemory(const hlo::Module& module, int32_t space) {
  int64_t most = 0;
  for (const hlo::Computation& computation : module.computations) {
    for (const hlo::Instruction& instruction : computation.instructions) {
      for (const hlo::ScopedMemory& scoped : instruction.scoped_memory) {
        if (scoped.memory_space != space || scoped.offset < 0 || scoped.size < 0) continue;
        most = std::max(most, SaturatingAdd(scoped.offset, scoped.size));
      }
    }
  }
  return most;
}

// The bytes behind `before` in a message of the compiler, such as 12.32M; 0 if there are none.
int64_t BytesBehind(absl::string_view before, absl::string_view message) {
  const size_t at = message.find(before);
  if (at == absl::string_view::npos) return 0;
  const absl::string_view number = message.substr(at + before.size());
  const size_t end = number.find_first_not_of("0123456789.");
  double value = 0;
  if (end == absl::string_view::npos || !absl::SimpleAtod(number.substr(0, end), &value)) return 0;
  const int64_t unit = number[end] == 'G'   ? 1 << 30
                       : number[end] == 'M' ? 1 << 20
                       : number[end] == 'K' ? 1 << 10
                                            : 1;
  return RoundToZero(value * static_cast<double>(unit));
}

}  // namespace

int64_t ExcessBytes(absl::string_view message) {
  return std::max(BytesBehind(" vmem capacity by ", message),
                  BytesBehind(" cmem capacity by ", message));
}

absl::StatusOr<PlacedVariant> PlacedVariant::Create(const PlacedSearchRequest& request,
                                                    std::string all_hbm_path,
                                                    std::string default_path,
                                                    int64_t scoped_limit_bytes) {
  PlacedVariant variant(request);
  variant.scoped_limit_bytes_ = scoped_limit_bytes;
  variant.all_hbm_path_ = std::move(all_hbm_path);
  variant.default_path_ = std::move(default_path);
  variant.placed_paths_ = request.placed_paths;
  MMZ_RETURN_IF_ERROR(variant.ReadAllHbm());
  return variant;
}

absl::Status PlacedVariant::ReadAllHbm() {
  absl::StatusOr<xla::HloModuleProto> proto = place::LoadModule(all_hbm_path_);
  if (!proto.ok()) return proto.status();
  all_hbm_ = *std::move(proto);
  const absl::StatusOr<hlo::Module> module = ReadModule(all_hbm_path_);
  if (!module.ok()) return module.status();
  const v1::Hardware& hardware = request_->hardware;
  memory_bytes_ = hardware.fast_memory_bytes();
  if (request_->chip.scoped_reserve_bytes > 0) {
    // The compiler's own assignment reserves the whole limit. A placed module only needs as much as
    // its instructions take.
    memory_bytes_ += request_->chip.scoped_reserve_bytes - kScopedMargin -
                     MostScopedMemory(*module, hardware.fast_memory_space());
    memory_bytes_ = std::max<int64_t>(memory_bytes_, hardware.fast_memory_alignment_bytes());
  }
  return absl::OkStatus();
}

absl::StatusOr<Program> PlacedVariant::Import() const {
  v1::Hardware hardware = request_->hardware;
  const int64_t alignment = hardware.fast_memory_alignment_bytes();
  hardware.set_fast_memory_bytes(memory_bytes_ / alignment * alignment);
  ImportOptions options;
  options.all_hbm_path = all_hbm_path_;
  options.default_path = default_path_;
  // Under another limit, instructions have other estimates.
  if (scoped_limit_bytes_ == 0) options.sample_paths = request_->sample_paths;
  options.placed_paths = placed_paths_;
  absl::StatusOr<v1::Program> program = ImportProgram(options, hardware);
  if (!program.ok()) return program.status();
  return Program::FromProto(*std::move(program));
}

bool PlacedVariant::is_exhausted() const {
  if (rounds_refused_ >= kRoundsRefused || rounds_without_gain_ >= kRoundsOfPromises) return true;
  const bool promises_more =
      best_cycles_.has_value() && promised_cycles_ < *best_cycles_ * kWorthTrying;
  return rounds_without_gain_ >= kRoundsWithoutGain && !promises_more;
}

absl::Status PlacedVariant::Find(PlacedProposal& proposal) const {
  const absl::Time start = SteadyNow();
  SolveOptions options;
  options.deadline = start + request_->solve_time;
  options.threads = request_->threads;
  options.seed = request_->seed + proposal.round.number();
  options.stop = request_->stop;
  absl::StatusOr<Solution> found =
      SolveToPack(proposal.program, options, [&](const Mapping& mapping) {
        return place::PlaceModule(proposal.program, mapping, all_hbm_, all_hbm_path_);
      });
  if (!found.ok()) return found.status();
  proposal.mapping = std::move(found->mapping);
  proposal.round.set_promised_cycles(found->cycles);
  proposal.round.set_solve_seconds(absl::ToDoubleSeconds(SteadyNow() - start));
  return absl::OkStatus();
}

absl::StatusOr<PlacedProposal> PlacedVariant::Begin(uint32_t round) const {
  absl::StatusOr<Program> program = Import();
  if (!program.ok()) return program.status();
  PlacedProposal proposal{*std::move(program), {}, {}, {}};
  proposal.round.set_number(round);
  proposal.round.set_scoped_limit_bytes(static_cast<double>(scoped_limit_bytes_));
  proposal.round.set_fast_memory_bytes(
      static_cast<double>(proposal.program.hardware().fast_memory_bytes()));
  return proposal;
}

void PlacedVariant::Place(PlacedProposal& proposal) const {
  const absl::StatusOr<place::PlacedModule> placed =
      PlaceAndCheck(proposal.program, proposal.mapping, all_hbm_, all_hbm_path_);
  if (placed.ok()) {
    proposal.module = SerializeDeterministically(placed->module);
    proposal.round.set_packed_bytes(static_cast<double>(placed->packed_bytes));
  } else {
    proposal.round.set_error(std::string(placed.status().message()));
  }
}

absl::StatusOr<PlacedProposal> PlacedVariant::Propose(uint32_t round) {
  absl::StatusOr<PlacedProposal> proposal = Begin(round);
  if (!proposal.ok()) return proposal.status();
  MMZ_RETURN_IF_ERROR(Find(*proposal));
  Place(*proposal);
  if (!proposal->round.error().empty()) ++rounds_refused_;
  return proposal;
}

absl::StatusOr<PlacedProposal> PlacedVariant::ProposeSample(uint32_t round) {
  absl::StatusOr<PlacedProposal> proposal = Begin(round);
  if (!proposal.ok()) return proposal.status();
  proposal->mapping = SampleMapping(proposal->program, request_->seed + round);
  proposal->round.set_is_sample(true);
  proposal->round.set_promised_cycles(Simulate(proposal->program, proposal->mapping).total_cycles);
  Place(*proposal);
  return proposal;
}

// Makes the memory for the next mapping smaller. The bytes that a mapping needs are known, but not
// the bytes that instructions take for themselves in its module.
void PlacedVariant::MakeRoom(absl::string_view message) {
  ++rounds_refused_;
  memory_bytes_ -= std::min(ExcessBytes(message), memory_bytes_ / kLargestCut);
  memory_bytes_ -= memory_bytes_ / kSpareShare;
  memory_bytes_ =
      std::max<int64_t>(memory_bytes_, request_->hardware.fast_memory_alignment_bytes());
}

absl::Status PlacedVariant::Learn(const v1::CompiledProgram& compiled, PlacedProposal& proposal) {
  v1::PlacedRound& round = proposal.round;
  round.set_compile_seconds(compiled.seconds());
  if (const absl::Status status = CompileStatus(compiled); !status.ok()) {
    round.set_error(std::string(status.message()));
    if (!round.is_sample()) MakeRoom(compiled.error());
    return absl::OkStatus();
  }
  const std::string stem = absl::StrCat(request_->folder, "/placed_", round.number());
  const std::string path = absl::StrCat(stem, ".pb");
  MMZ_RETURN_IF_ERROR(WriteFileAtomically(path, compiled.module()));
  MMZ_RETURN_IF_ERROR(WriteMessage(absl::StrCat(stem, ".mapping"),
                                   MappingToProto(proposal.mapping, proposal.program)));
  placed_paths_.push_back(path);
  const absl::StatusOr<ModuleReader> reader = ModuleReader::Create(proposal.program);
  if (!reader.ok()) return reader.status();
  const absl::StatusOr<ReadBack> read_back = reader->Read(path);
  if (!read_back.ok()) return read_back.status();
  const v1::ReadBackReport compared =
      MakeReadBackReport(proposal.program, *read_back, &proposal.mapping);
  if (!compared.has_compiled_cycles()) {
    return absl::InternalError(absl::StrCat(path, ": the compiler gave no estimates"));
  }
  round.set_accesses_elsewhere(compared.mismatch_count());
  round.set_compiled_cycles(compared.compiled_cycles());
  const bool gained = !best_cycles_.has_value() || round.compiled_cycles() < *best_cycles_;
  if (gained) best_cycles_ = round.compiled_cycles();
  if (round.is_sample()) return absl::OkStatus();
  promised_cycles_ = round.promised_cycles();
  rounds_refused_ = 0;
  rounds_without_gain_ = gained ? 0 : rounds_without_gain_ + 1;
  return absl::OkStatus();
}

}  // namespace mallocmuzero
