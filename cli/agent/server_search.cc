#include "cli/agent/server_search.h"

#include <filesystem>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/compression.h"
#include "base/file_io.h"
#include "base/message_file.h"
#include "base/status_at.h"
#include "base/status_macros.h"
#include "cli/agent/run_role.h"
#include "cluster/config_mistakes.h"
#include "cluster/config_text.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "mallocmuzero/v1/serve.pb.h"
#include "rpc/channel.h"
#include "rpc/host_port.h"
#include "rpc/security.h"
#include "rpc/status.h"
#include "serve/find_mapping.h"
#include "simulator/core/mapping.h"

namespace mallocmuzero::cli {

absl::StatusOr<std::shared_ptr<const Security>> LoadServerSecurity(const std::string& path) {
  if (path.empty()) return std::make_shared<const Security>();
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) return text.status();
  v1::Security config;
  ConfigMistakes mistakes;
  ParseConfigText(*text, config, mistakes);
  if (!mistakes.empty()) return TellMistakes(path, mistakes.ToStatus(path));
  return Security::Load(config, std::filesystem::path(path).parent_path().string());
}

absl::Status CheckServerAddress(const std::string& address) {
  if (ParseHostPort(address).has_value()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--server: host:port expected, found '", address, "'"));
}

absl::Status ServerError(const std::string& address, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("--server ", address, ": ", Reason(status)));
}

absl::StatusOr<Solution> AskServer(const ServerSearch& search, const Program& program,
                                   const SolveOptions& options) {
  MMZ_RETURN_IF_ERROR(CheckServerAddress(search.address));
  const absl::StatusOr<std::shared_ptr<const Security>> security =
      LoadServerSecurity(search.security_file);
  if (!security.ok()) return security.status();
  MMZ_RETURN_IF_ERROR(
      StatusAt(search.security_file, (*security)->CheckCallAddress(search.address)));
  // With the header of its file, which may be of an older version: the fingerprint covers it.
  absl::StatusOr<std::string> bytes =
      Compress(SerializeDeterministically(program.proto()), "program");
  if (!bytes.ok()) return bytes.status();

  v1::FindMappingRequest request;
  request.set_program(*std::move(bytes));
  request.set_budget_seconds(absl::ToDoubleSeconds(search.budget));
  request.set_solver(search.solver);
  request.set_threads(search.threads);
  request.set_seed(options.seed);
  FindMappingOptions asking;
  asking.stop = options.stop;
  asking.better = [&options](const v1::FoundMapping& better) {
    if (options.progress) options.progress({.best_cycles = better.cycles(), .games = 0});
  };
  asking.cut_short = [&search](const absl::Status& why) {
    if (search.cut_short) search.cut_short(ServerError(search.address, why));
  };
  const auto stub = v1::Mapper::NewStub(MakeChannel(search.address, **security));
  const absl::StatusOr<v1::FoundMapping> found = FindMapping(*stub, **security, request, asking);
  if (!found.ok()) return ServerError(search.address, found.status());
  absl::StatusOr<Mapping> mapping = MappingFromProto(found->mapping(), program);
  if (!mapping.ok()) return ServerError(search.address, mapping.status());
  if (found->solver() == solver_name::kDefault && program.baseline() == nullptr) {
    return ServerError(search.address,
                       absl::InternalError("answers with the default of a program without one"));
  }
  Solution solution;
  solution.mapping = *std::move(mapping);
  solution.cycles = found->cycles();
  solution.solver = found->solver();
  solution.games = found->games();
  solution.simulations = found->simulations();
  solution.interrupted = found->interrupted();
  return solution;
}

}  // namespace mallocmuzero::cli
