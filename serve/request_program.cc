#include "serve/request_program.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/compression.h"
#include "base/message_file.h"
#include "base/status_at.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "env/solvers/solve.h"
#include "simulator/core/hardware.h"
#include "simulator/core/program.h"
#include "simulator/import/import.h"

namespace mallocmuzero {
namespace {

constexpr char kProgramField[] = "program";

// A shorter budget leaves no time for a search.
constexpr double kLeastBudgetSeconds = 1e-6;

// A name is for people; it goes into every message about the program.
constexpr size_t kMostNameBytes = 200;

// The other fields of a request have a few hundred bytes.
constexpr uint64_t kMostOtherBytes = 4 << 10;

// Modules that are samples or placed. Each takes memory also if it has few bytes.
constexpr int kMostModules = 1000;

absl::Status TooLarge(uint64_t bytes, uint64_t most) {
  return absl::InvalidArgumentError(absl::StrCat("the program has ", bytes,
                                                 " bytes, this server takes at most ", most,
                                                 " (max_program_bytes)"));
}

absl::Status CheckBudget(double seconds, double most) {
  if (seconds >= kLeastBudgetSeconds && seconds <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("budget_seconds: ", seconds,
                                                 " given, a microsecond at least and at most ",
                                                 most, " (max_budget_seconds) expected"));
}

absl::Status CheckSolver(const std::string& name) {
  const absl::Span<const absl::string_view> names = SolverNames();
  if (name.empty() || std::find(names.begin(), names.end(), name) != names.end()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("solver: one of ", absl::StrJoin(names, ", "), " expected"));
}

absl::Status CheckNotEmpty(absl::string_view field,
                           const google::protobuf::RepeatedPtrField<std::string>& modules) {
  for (int k = 0; k < modules.size(); ++k) {
    if (!modules[k].empty()) continue;
    return absl::InvalidArgumentError(absl::StrCat(field, "[", k, "]: a module expected"));
  }
  return absl::OkStatus();
}

absl::Status CheckHlo(const v1::HloModules& hlo) {
  const std::vector<std::string> chips = BuiltInHardwareNames();
  if (std::find(chips.begin(), chips.end(), hlo.hardware()) == chips.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("hlo.hardware: one of ", absl::StrJoin(chips, ", "), " expected"));
  }
  if (hlo.fast_memory_bytes() < 0) {
    return absl::InvalidArgumentError("hlo.fast_memory_bytes: 0 or more expected");
  }
  if (hlo.name().size() > kMostNameBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("hlo.name: at most ", kMostNameBytes, " bytes expected"));
  }
  if (hlo.all_hbm().empty()) {
    return absl::InvalidArgumentError("hlo.all_hbm: the compile with everything in HBM expected");
  }
  if (const int64_t modules = int64_t{hlo.samples_size()} + hlo.placed_size();
      modules > kMostModules) {
    return absl::InvalidArgumentError(absl::StrCat("hlo.samples and hlo.placed: at most ",
                                                   kMostModules, " modules expected, found ",
                                                   modules));
  }
  MMZ_RETURN_IF_ERROR(CheckNotEmpty("hlo.samples", hlo.samples()));
  return CheckNotEmpty("hlo.placed", hlo.placed());
}

// The modules of a request as the files of an import, by the names of their fields.
class ModuleFiles {
 public:
  ModuleFiles(const v1::HloModules& hlo, uint64_t max_bytes, const std::function<bool()>& stop)
      : left_(max_bytes), most_(max_bytes) {
    options_.program_name = hlo.name();
    options_.all_hbm_path = Add("hlo.all_hbm", hlo.all_hbm());
    if (!hlo.default_placement().empty()) {
      options_.default_path = Add("hlo.default_placement", hlo.default_placement());
    }
    for (const std::string& bytes : hlo.samples()) {
      options_.sample_paths.push_back(
          Add(absl::StrCat("hlo.samples[", options_.sample_paths.size(), "]"), bytes));
    }
    for (const std::string& bytes : hlo.placed()) {
      options_.placed_paths.push_back(
          Add(absl::StrCat("hlo.placed[", options_.placed_paths.size(), "]"), bytes));
    }
    options_.read_file = [this](const std::string& name) { return Read(name); };
    options_.stop = stop;
  }
  ModuleFiles(const ModuleFiles&) = delete;
  ModuleFiles& operator=(const ModuleFiles&) = delete;

  const ImportOptions& options() const { return options_; }

 private:
  std::string Add(std::string name, const std::string& bytes) {
    modules_[name] = &bytes;
    return name;
  }

  // All modules together may have max_bytes.
  absl::StatusOr<std::string> Read(const std::string& name) {
    absl::StatusOr<std::string> bytes = Decompress(*modules_[name], name, left_);
    if (!bytes.ok()) return bytes.status();
    if (bytes->size() > left_) return TooLarge(most_ - left_ + bytes->size(), most_);
    left_ -= bytes->size();
    return bytes;
  }

  absl::flat_hash_map<std::string, const std::string*> modules_;
  uint64_t left_;
  const uint64_t most_;
  ImportOptions options_;
};

absl::StatusOr<Program> ImportModules(const v1::HloModules& hlo, uint64_t max_bytes,
                                      const std::function<bool()>& stop) {
  absl::StatusOr<v1::Hardware> hardware = LoadHardware(hlo.hardware());
  if (!hardware.ok()) return hardware.status();
  if (hlo.fast_memory_bytes() > 0) {
    hardware->set_fast_memory_bytes(hlo.fast_memory_bytes());
    MMZ_RETURN_IF_ERROR(CheckHardware(*hardware, "hlo.fast_memory_bytes"));
  }
  const ModuleFiles files(hlo, max_bytes, stop);
  absl::StatusOr<v1::Program> imported = ImportProgram(files.options(), *hardware);
  if (!imported.ok()) return imported.status();
  return Program::FromProto(*std::move(imported));
}

absl::StatusOr<Program> ReadProgram(const std::string& bytes, uint64_t max_bytes) {
  absl::StatusOr<std::string> plain = Decompress(bytes, kProgramField, max_bytes);
  if (!plain.ok()) return plain.status();
  v1::Program proto;
  MMZ_RETURN_IF_ERROR(ParseMessage(*plain, /*text=*/false, kProgramField, proto));
  absl::StatusOr<Program> program = Program::FromProto(std::move(proto));
  if (program.ok()) return program;
  return StatusAt(kProgramField, program.status());
}

uint64_t InputBytes(const v1::FindMappingRequest& request) {
  return request.has_hlo() ? request.hlo().ByteSizeLong() : request.program().size();
}

}  // namespace

absl::Status CheckRequestBytes(uint64_t bytes, const RequestLimits& limits) {
  if (bytes <= limits.max_program_bytes + kMostOtherBytes) return absl::OkStatus();
  return TooLarge(bytes, limits.max_program_bytes);
}

absl::Status CheckRequest(const v1::FindMappingRequest& request, const RequestLimits& limits) {
  if (request.input_case() == v1::FindMappingRequest::INPUT_NOT_SET) {
    return absl::InvalidArgumentError("program or hlo expected");
  }
  if (const uint64_t bytes = InputBytes(request); bytes > limits.max_program_bytes) {
    return TooLarge(bytes, limits.max_program_bytes);
  }
  MMZ_RETURN_IF_ERROR(CheckBudget(request.budget_seconds(), limits.max_budget_seconds));
  MMZ_RETURN_IF_ERROR(CheckSolver(request.solver()));
  return request.has_hlo() ? CheckHlo(request.hlo()) : absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<PlayedProgram>> MakeRequestProgram(
    const v1::FindMappingRequest& request, const RequestLimits& limits,
    const std::function<bool()>& stop) {
  absl::StatusOr<Program> program =
      request.has_hlo() ? ImportModules(request.hlo(), limits.max_program_bytes, stop)
                        : ReadProgram(request.program(), limits.max_program_bytes);
  if (!program.ok()) return program.status();
  return PlayedProgram::Create(*std::move(program));
}

}  // namespace mallocmuzero
