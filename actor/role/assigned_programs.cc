#include "actor/role/assigned_programs.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "actor/self_play.h"
#include "base/compression.h"
#include "base/message_file.h"
#include "base/status_at.h"
#include "base/status_macros.h"
#include "env/program_rules.h"
#include "simulator/core/program.h"

namespace mallocmuzero {
namespace {

// The most bytes of a decompressed program.
constexpr int64_t kMostProgramBytes = int64_t{1} << 30;

absl::StatusOr<Program> ReadProgram(const v1::Assignment::Program& program,
                                    const ProgramFiles& files) {
  const auto file = files.find(program.file_sha256());
  if (file == files.end()) {
    return absl::InvalidArgumentError(absl::StrCat(program.name(), ": its file is missing"));
  }
  const absl::StatusOr<std::string> bytes =
      Decompress(*file->second, program.name(), kMostProgramBytes);
  if (!bytes.ok()) return bytes.status();
  v1::Program message;
  MMZ_RETURN_IF_ERROR(ParseMessage(*bytes, false, program.name(), message));
  absl::StatusOr<Program> read = Program::FromProto(std::move(message));
  if (!read.ok()) return StatusAt(program.name(), read.status());
  if (read->proto().fingerprint() != program.sha256()) {
    return absl::InvalidArgumentError(
        absl::StrCat(program.name(), ": its file is another program's"));
  }
  return read;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const AssignedPrograms>> ReadAssignment(
    const v1::Assignment& assignment, const ProgramFiles& files) {
  if (assignment.rules_version() != kGameRulesVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("the learner's release has rules ", assignment.rules_version(),
                     ", this one has rules ", kGameRulesVersion, ": use the same release"));
  }
  const absl::StatusOr<SearchConfig> search = MakeSearchConfig(assignment.search());
  if (!search.ok()) return search.status();
  std::vector<Program> programs;
  for (const v1::Assignment::Program& program : assignment.programs()) {
    absl::StatusOr<Program> read = ReadProgram(program, files);
    if (!read.ok()) return read.status();
    programs.push_back(*std::move(read));
  }
  absl::StatusOr<ProgramSet> set = ProgramSet::Create(std::move(programs));
  if (!set.ok()) return set.status();
  if (set->size() != assignment.programs_size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(set->idle()[0], ": nothing to decide by this build's rules"));
  }
  return std::make_shared<const AssignedPrograms>(
      AssignedPrograms{.assignment = assignment, .programs = *std::move(set), .search = *search});
}

}  // namespace mallocmuzero
