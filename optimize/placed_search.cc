#include "optimize/placed_search.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/types/optional.h"
#include "compiler/compile.h"
#include "compiler/options.h"
#include "mallocmuzero/v1/compile.pb.h"
#include "mallocmuzero/xla/hlo.pb.h"
#include "optimize/checked_place.h"
#include "optimize/packed_solve.h"
#include "simulator/core/file_io.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"
#include "simulator/core/simulate.h"
#include "simulator/core/status_macros.h"
#include "simulator/hlo/module.h"
#include "simulator/import/analyzed_module.h"
#include "simulator/import/import.h"
#include "simulator/import/read_back.h"
#include "simulator/place/place.h"

namespace mallocmuzero {
namespace {

// What a placed module may take for instructions beyond what the compile with everything in HBM
// takes.
constexpr int64_t kScopedMargin = 2 << 20;

// Bytes by which "... Exceeded vmem capacity by 12.32M." says that a module is too large; 0 if the
// message says something else.
int64_t ExcessOf(absl::string_view message) {
  constexpr absl::string_view kBefore = "capacity by ";
  const size_t at = message.find(kBefore);
  if (at == absl::string_view::npos) return 0;
  const absl::string_view number = message.substr(at + kBefore.size());
  const size_t end = number.find_first_not_of("0123456789.");
  double value = 0;
  if (end == absl::string_view::npos || !absl::SimpleAtod(number.substr(0, end), &value)) return 0;
  const double unit = number[end] == 'G' ? 1 << 30 : number[end] == 'M' ? 1 << 20 : 1 << 10;
  return static_cast<int64_t>(value * unit);
}

int64_t MostScopedMemory(const hlo::Module& module, int32_t space) {
  int64_t most = 0;
  for (const hlo::Computation& computation : module.computations) {
    for (const hlo::Instruction& instruction : computation.instructions) {
      for (const hlo::ScopedMemory& scoped : instruction.scoped_memory) {
        if (scoped.memory_space == space) most = std::max(most, scoped.offset + scoped.size);
      }
    }
  }
  return most;
}

class PlacedSearch {
 public:
  explicit PlacedSearch(const PlacedSearchRequest& request) : request_(request) {}

  absl::StatusOr<PlacedSearchResult> Run() && {
    const absl::Time start = absl::Now();
    MMZ_RETURN_IF_ERROR(CompileUnplaced());
    MMZ_RETURN_IF_ERROR(ReadAllHbm());
    MMZ_RETURN_IF_ERROR(PriceDefault());
    while (!IsOver()) {
      absl::StatusOr<bool> improved = RunRound();
      if (!improved.ok()) return improved.status();
    }
    report().set_interrupted(Stopped());
    report().set_seconds(absl::ToDoubleSeconds(absl::Now() - start));
    return std::move(result_);
  }

 private:
  v1::OptimizeReport& report() { return result_.report; }
  std::string Path(absl::string_view file) const {
    return absl::StrCat(request_.folder, "/", file);
  }
  bool Stopped() const { return request_.stop && request_.stop(); }
  bool IsOver() const {
    return Stopped() || rounds_without_gain_ >= 2 ||
           report().rounds_size() >= static_cast<int>(request_.most_rounds) ||
           absl::Now() + slowest_compile_ > request_.deadline;
  }
  const v1::OptimizeReport& report() const { return result_.report; }

  absl::StatusOr<v1::CompileResponse> CompileAll(
      const std::vector<std::pair<std::string, bool>>& codes, absl::string_view format) {
    v1::CompileRequest compile;
    compile.set_library(request_.library);
    compile.set_topology(request_.topology);
    for (const auto& [code, assigns] : codes) {
      v1::CompileProgram& program = *compile.add_programs();
      program.set_format(std::string(format));
      program.set_code(code);
      xla::CompileOptionsProto options = request_.options;
      if (!assigns) {
        MMZ_RETURN_IF_ERROR(
            SetCompilerOption(absl::StrCat(request_.chip.assignment_option, "=false"), options));
      }
      program.set_options(SerializeDeterministically(options));
    }
    CompileControl control;
    control.timeout = std::max(request_.deadline - absl::Now(), absl::Minutes(1)) * 2;
    control.stop_fd = request_.stop_fd;
    absl::StatusOr<v1::CompileResponse> response = Compile(compile, control);
    if (!response.ok()) return response;
    report().set_library(request_.library);
    report().set_library_version(response->compiler().version());
    for (const v1::CompiledProgram& program : response->programs()) {
      slowest_compile_ = std::max(slowest_compile_, absl::Seconds(program.seconds()));
    }
    return response;
  }

  absl::Status CompileUnplaced() {
    all_hbm_path_ = request_.all_hbm_path;
    default_path_ = request_.default_path;
    if (!all_hbm_path_.empty()) return absl::OkStatus();
    all_hbm_path_ = Path("all_hbm.pb");
    absl::StatusOr<v1::CompileResponse> response =
        CompileAll({{request_.code, false}, {request_.code, true}}, request_.format);
    if (!response.ok()) return response.status();
    MMZ_RETURN_IF_ERROR(CompileStatus(response->programs(0)));
    MMZ_RETURN_IF_ERROR(WriteFileAtomically(all_hbm_path_, response->programs(0).module()));
    const v1::CompiledProgram& by_default = response->programs(1);
    if (const absl::Status status = CompileStatus(by_default); !status.ok()) {
      report().set_default_error(std::string(status.message()));
      return absl::OkStatus();
    }
    KeepBest(by_default);
    default_path_ = Path("default.pb");
    return WriteFileAtomically(default_path_, by_default.module());
  }

  void KeepBest(const v1::CompiledProgram& program) {
    result_.module = program.module();
    result_.executable = program.executable();
    report().set_executable_bytes(static_cast<double>(program.executable().size()));
    if (program.has_memory()) *report().mutable_memory() = program.memory();
  }

  absl::Status ReadAllHbm() {
    absl::StatusOr<xla::HloModuleProto> proto = place::LoadModule(all_hbm_path_);
    if (!proto.ok()) return proto.status();
    all_hbm_ = *std::move(proto);
    const absl::StatusOr<hlo::Module> module = ReadModule(all_hbm_path_);
    if (!module.ok()) return module.status();
    memory_bytes_ = request_.hardware.fast_memory_bytes();
    if (request_.chip.scoped_reserve_bytes > 0) {
      const int64_t scoped =
          MostScopedMemory(*module, request_.hardware.fast_memory_space()) + kScopedMargin;
      memory_bytes_ += std::max<int64_t>(request_.chip.scoped_reserve_bytes - scoped, 0);
    }
    return absl::OkStatus();
  }

  absl::Status PriceDefault() {
    const absl::StatusOr<Program> program = Import();
    if (!program.ok()) return program.status();
    report().set_program(program->proto().name());
    report().set_chip(request_.hardware.name());
    if (!program->proto().has_baseline()) return absl::OkStatus();
    report().set_default_cycles(program->proto().baseline().total_cycles());
    report().set_optimized_cycles(report().default_cycles());
    return absl::OkStatus();
  }

  absl::StatusOr<Program> Import() const {
    v1::Hardware hardware = request_.hardware;
    const int64_t alignment = hardware.fast_memory_alignment_bytes();
    hardware.set_fast_memory_bytes(memory_bytes_ / alignment * alignment);
    ImportOptions options;
    options.all_hbm_path = all_hbm_path_;
    options.default_path = default_path_;
    options.sample_paths = request_.sample_paths;
    options.placed_paths = placed_paths_;
    options.program_name = request_.program_name;
    absl::StatusOr<v1::Program> program = ImportProgram(options, hardware);
    if (!program.ok()) return program.status();
    return Program::FromProto(*std::move(program));
  }

  // One mapping found, placed and compiled. False if it is no better than the best.
  absl::StatusOr<bool> RunRound() {
    const absl::StatusOr<Program> program = Import();
    if (!program.ok()) return program.status();
    v1::PlacedRound round;
    round.set_number(static_cast<uint32_t>(report().rounds_size()));
    round.set_fast_memory_bytes(static_cast<double>(program->hardware().fast_memory_bytes()));
    absl::StatusOr<Mapping> mapping = FindMapping(*program, round);
    if (!mapping.ok()) return mapping.status();
    const absl::StatusOr<bool> better = CompileMapping(*program, *mapping, round);
    if (!better.ok()) return better.status();
    if (request_.progress) request_.progress(round);
    rounds_without_gain_ = *better || round.number() == 0 ? 0 : rounds_without_gain_ + 1;
    *report().add_rounds() = std::move(round);
    return *better;
  }

  absl::StatusOr<Mapping> FindMapping(const Program& program, v1::PlacedRound& round) const {
    if (round.number() == 0) {
      round.set_promised_cycles(SimulateAllHbm(program).total_cycles);
      return AllHbmMapping(program);
    }
    const absl::Time start = absl::Now();
    SolveOptions options;
    options.deadline = start + request_.solve_time;
    options.threads = request_.threads;
    options.seed = request_.seed + round.number();
    options.stop = request_.stop;
    absl::StatusOr<PackedSolution> found =
        SolveToPack(program, options, must_pack_ ? Packing::kPredicted : Packing::kLeftToCompiler);
    if (!found.ok()) return found.status();
    round.set_promised_cycles(found->solution.cycles);
    round.set_packed_bytes(static_cast<double>(found->packed_bytes));
    round.set_solve_seconds(absl::ToDoubleSeconds(absl::Now() - start));
    return std::move(found->solution.mapping);
  }

  absl::StatusOr<bool> CompileMapping(const Program& program, const Mapping& mapping,
                                      v1::PlacedRound& round) {
    const absl::StatusOr<place::PlacedModule> placed =
        PlaceAndCheck(program, mapping, all_hbm_, all_hbm_path_);
    if (!placed.ok()) return placed.status();
    absl::StatusOr<v1::CompileResponse> response =
        CompileAll({{SerializeDeterministically(placed->module), false}}, "hlo");
    if (!response.ok()) return response.status();
    const v1::CompiledProgram& compiled = response->programs(0);
    round.set_compile_seconds(compiled.seconds());
    if (const absl::Status status = CompileStatus(compiled); !status.ok()) {
      round.set_error(std::string(status.message()));
      // The prediction is an upper bound: a mapping that does not keep to it is tried first.
      if (must_pack_) {
        memory_bytes_ -= std::max<int64_t>(ExcessOf(compiled.error()), memory_bytes_ / 32);
      }
      must_pack_ = true;
      return false;
    }
    const std::string path = Path(absl::StrCat("placed_", round.number(), ".pb"));
    MMZ_RETURN_IF_ERROR(WriteFileAtomically(path, compiled.module()));
    MMZ_RETURN_IF_ERROR(WriteMessage(Path(absl::StrCat("placed_", round.number(), ".mapping")),
                                     MappingToProto(mapping, program)));
    placed_paths_.push_back(path);
    const absl::StatusOr<ReadBack> read_back = ReadBackModule(program, all_hbm_path_, path);
    if (!read_back.ok()) return read_back.status();
    const v1::ReadBackReport compared = MakeReadBackReport(program, *read_back, &mapping);
    round.set_accesses_elsewhere(compared.mismatch_count());
    if (!compared.has_compiled_cycles()) {
      return absl::InternalError(absl::StrCat(path, ": the compiler gave no estimates"));
    }
    round.set_compiled_cycles(compared.compiled_cycles());
    if (report().has_optimized_cycles() &&
        compared.compiled_cycles() >= report().optimized_cycles()) {
      return false;
    }
    report().set_optimized_cycles(compared.compiled_cycles());
    report().set_best_round(round.number());
    KeepBest(compiled);
    return true;
  }

  const PlacedSearchRequest& request_;
  PlacedSearchResult result_;
  std::string all_hbm_path_;
  std::string default_path_;  // empty: the compiler refuses the program by default
  xla::HloModuleProto all_hbm_;
  int64_t memory_bytes_ = 0;  // for tensors in the next round
  bool must_pack_ = false;    // a module did not fit
  std::vector<std::string> placed_paths_;
  absl::Duration slowest_compile_;
  int rounds_without_gain_ = 0;
};

}  // namespace

absl::StatusOr<PlacedSearchResult> SearchPlacements(const PlacedSearchRequest& request) {
  return PlacedSearch(request).Run();
}

}  // namespace mallocmuzero
