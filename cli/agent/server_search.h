// `map --server`: a search on a server of `serve`.

#ifndef MALLOCMUZERO_CLI_AGENT_SERVER_SEARCH_H_
#define MALLOCMUZERO_CLI_AGENT_SERVER_SEARCH_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/map_command.h"
#include "env/solvers/solve.h"
#include "simulator/core/program.h"

namespace mallocmuzero {
class Security;  // rpc/security.h
}  // namespace mallocmuzero

namespace mallocmuzero::cli {

// The certificates and the token that a file in text format names (v1.Security). An empty path
// stands for none. Errors name the file, and of a mistake in it the line and the field; several
// mistakes are told as TellMistakes does.
absl::StatusOr<std::shared_ptr<const Security>> LoadServerSecurity(const std::string& path);

// InvalidArgument unless the value of --server is host:port.
absl::Status CheckServerAddress(const std::string& address);

// The error `status` of a call to the server at this address, which the message names.
absl::Status ServerError(const std::string& address, const absl::Status& status);

// See AgentPlayer::ask_server. If `stop`, the server or the connection ends the search, the answer
// is the best mapping that came before. Errors name the server.
absl::StatusOr<Solution> AskServer(const ServerSearch& search, const Program& program,
                                   const SolveOptions& options);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_AGENT_SERVER_SEARCH_H_
