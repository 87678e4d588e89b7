// libFuzzer target: any bytes, read as a FindMappingRequest, give a search whose answers are valid
// mappings, or an error of one line.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "base/steady_clock.h"
#include "env/solvers/solve.h"
#include "google/protobuf/stubs/logging.h"
#include "mallocmuzero/v1/serve.pb.h"
#include "serve/mapping_search.h"
#include "serve/request_program.h"
#include "simulator/core/mapping.h"
#include "simulator/validate/validate.h"
#include "tests/fuzz/require.h"

namespace mallocmuzero {
namespace {

constexpr RequestLimits kLimits = {.max_program_bytes = 1 << 16, .max_budget_seconds = 10};
constexpr double kBudgetSeconds = 0.002;
constexpr uint64_t kGames = 50;

void CheckFound(const v1::FindMappingRequest& request, const v1::FoundMapping& found) {
  const auto program = MakeRequestProgram(request, kLimits, [] { return false; });
  Require(program.ok());
  const auto mapping = MappingFromProto(found.mapping(), (*program)->program());
  Require(mapping.ok());
  // Only the compiler's own placement may break rules of the game.
  if (found.solver() != solver_name::kDefault) {
    Require(Validate((*program)->program(), *mapping).empty());
  }
}

void Answer(v1::FindMappingRequest request) {
  if (const absl::Status status = CheckRequest(request, kLimits); !status.ok()) {
    return CheckError(status);
  }
  request.set_budget_seconds(kBudgetSeconds);
  request.set_max_games(kGames);
  MappingRequest asked;
  asked.request = &request;
  asked.arrived = SteadyNow();
  asked.deadline = absl::InfiniteFuture();
  asked.stop = [] { return false; };
  int answers = 0;
  asked.send = [&](const v1::FindMappingResponse& response) {
    Require(response.has_started() == (answers++ == 0));
    if (response.has_better()) CheckFound(request, response.better());
    if (response.has_result()) CheckFound(request, response.result());
  };
  SearchSettings settings;
  settings.limits = kLimits;
  const absl::StatusOr<SearchFigures> figures = SearchMapping(asked, settings);
  if (!figures.ok()) return CheckError(figures.status());
  Require(answers >= 2);
}

}  // namespace
}  // namespace mallocmuzero

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const google::protobuf::LogSilencer silencer;
  mallocmuzero::v1::FindMappingRequest request;
  if (request.ParseFromArray(data, size)) {
    mallocmuzero::Answer(std::move(request));
  }
  return 0;
}
