#include "cli/agent/server_search.h"

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/compression.h"
#include "base/file_io.h"
#include "env/solvers/solve.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/serve.grpc.pb.h"
#include "mallocmuzero/v1/serve.pb.h"
#include "rpc/security.h"
#include "simulator/core/fingerprint.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// The error of a security file with this text.
std::string ErrorOf(const std::string& text) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/client.textproto");
  EXPECT_TRUE(WriteFileAtomically(path, text).ok());
  const auto security = LoadServerSecurity(path);
  EXPECT_EQ(security.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(security.status().message());
}

TEST(LoadServerSecurity, NamesLineAndFieldOfAMistake) {
  EXPECT_THAT(ErrorOf("# of the client\ntoken: \"token\"\n"),
              HasSubstr("/client.textproto:2: token: no such field; here may be ca_file"));
  EXPECT_THAT(ErrorOf("\nallow_insecure_network: maybe\n"),
              HasSubstr("/client.textproto:2: allow_insecure_network: "));
  EXPECT_THAT(ErrorOf("token_file: \"token\n"), HasSubstr("/client.textproto:1: "));
}

TEST(LoadServerSecurity, CountsSeveralMistakes) {
  EXPECT_THAT(ErrorOf("token: \"token\"\nca: \"ca.pem\"\n"),
              HasSubstr("/client.textproto: 2 mistakes"));
}

TEST(LoadServerSecurity, NamesAFileThatIsMissing) {
  EXPECT_THAT(ErrorOf("token_file: \"no_such_token\"\n"),
              AllOf(HasSubstr("token_file"), HasSubstr("no_such_token")));
}

TEST(LoadServerSecurity, NoFileStandsForNoSecurity) { EXPECT_TRUE(LoadServerSecurity("").ok()); }

// Answers each request with one result. With an `end` that is an error, it is a better mapping that
// comes before the error.
class ScriptedMapper final : public v1::Mapper::Service {
 public:
  explicit ScriptedMapper(v1::FoundMapping result, grpc::Status end = grpc::Status::OK)
      : result_(std::move(result)), end_(std::move(end)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~ScriptedMapper() override { server_->Shutdown(std::chrono::system_clock::now()); }

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

  // The program of the latest request, as bytes of a file.
  const std::string& program() const { return program_; }

  grpc::Status FindMapping(grpc::ServerContext* /*context*/, const v1::FindMappingRequest* request,
                           grpc::ServerWriter<v1::FindMappingResponse>* writer) override {
    program_ = request->program();
    v1::FindMappingResponse response;
    response.mutable_started();
    writer->Write(response);
    *(end_.ok() ? response.mutable_result() : response.mutable_better()) = result_;
    writer->Write(response);
    return end_;
  }

 private:
  const v1::FoundMapping result_;
  const grpc::Status end_;
  std::string program_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// A program without a default.
Program SmallProgram() {
  testing::ProgramBuilder builder;
  const BufferIndex weights = builder.AddBuffer(64, {.live_in = true});
  builder.AddInstruction(10, {testing::Read(weights, 1)});
  return builder.Build();
}

absl::StatusOr<Solution> Ask(const v1::FoundMapping& result, const Program& program) {
  const ScriptedMapper server(result);
  return AskServer({.address = server.address(), .budget = absl::Seconds(1)}, program, {});
}

TEST(AskServer, TakesTheMappingOfTheServer) {
  const Program program = SmallProgram();
  v1::FoundMapping result;
  *result.mutable_mapping() = MappingToProto(AllHbmMapping(program), program);
  result.set_solver("greedy");
  result.set_cycles(10);
  const absl::StatusOr<Solution> solution = Ask(result, program);
  ASSERT_TRUE(solution.ok()) << solution.status();
  EXPECT_EQ(solution->solver, "greedy");
  EXPECT_EQ(solution->cycles, 10);
}

TEST(AskServer, SendsAProgramOfAnOlderVersionAsItIs) {
  v1::Program proto = SmallProgram().proto();
  proto.mutable_header()->set_version(1);
  proto.set_fingerprint(ProgramFingerprint(proto));
  const Program program = *Program::FromProto(proto);
  v1::FoundMapping result;
  *result.mutable_mapping() = MappingToProto(AllHbmMapping(program), program);
  const ScriptedMapper server(result);
  ASSERT_TRUE(
      AskServer({.address = server.address(), .budget = absl::Seconds(1)}, program, {}).ok());
  v1::Program sent;
  ASSERT_TRUE(sent.ParseFromString(*Decompress(server.program(), "program")));
  EXPECT_TRUE(Program::FromProto(std::move(sent)).ok());
}

TEST(AskServer, SendsNoTokenInClearTextUnlessThatIsAllowed) {
  const std::string folder = ::testing::TempDir();
  ASSERT_TRUE(WriteFileAtomically(folder + "/token", "0123456789abcdef\n").ok());
  ASSERT_TRUE(WriteFileAtomically(folder + "/client.textproto", "token_file: \"token\"\n").ok());
  const absl::Status status = AskServer({.address = "search.example:7500",
                                         .security_file = folder + "/client.textproto",
                                         .budget = absl::Seconds(1)},
                                        SmallProgram(), {})
                                  .status();
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("/client.textproto: address 'search.example:7500': without TLS the token"));
}

TEST(AskServer, KeepsTheBestMappingOfAServerThatGoesAway) {
  const Program program = SmallProgram();
  v1::FoundMapping better;
  *better.mutable_mapping() = MappingToProto(AllHbmMapping(program), program);
  better.set_solver("greedy");
  better.set_cycles(10);
  for (const grpc::StatusCode code :
       {grpc::StatusCode::UNAVAILABLE, grpc::StatusCode::INTERNAL,
        grpc::StatusCode::RESOURCE_EXHAUSTED, grpc::StatusCode::DEADLINE_EXCEEDED}) {
    const ScriptedMapper server(better, {code, "the server is away"});
    absl::Status why;
    const absl::StatusOr<Solution> solution =
        AskServer({.address = server.address(),
                   .budget = absl::Seconds(1),
                   .cut_short = [&why](const absl::Status& status) { why = status; }},
                  program, {});
    ASSERT_TRUE(solution.ok()) << solution.status();
    EXPECT_TRUE(solution->interrupted);
    EXPECT_EQ(solution->cycles, 10);
    EXPECT_EQ(why.code(), static_cast<absl::StatusCode>(code));
    EXPECT_THAT(std::string(why.message()), HasSubstr("--server 127.0.0.1:"));
  }
  const ScriptedMapper refusing(better, {grpc::StatusCode::INVALID_ARGUMENT, "seed"});
  EXPECT_EQ(AskServer({.address = refusing.address(), .budget = absl::Seconds(1)}, program, {})
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(AskServer, NamesTheServerOfAMappingThatIsNotOfTheProgram) {
  const absl::StatusOr<Solution> solution = Ask({}, SmallProgram());
  EXPECT_EQ(solution.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(solution.status().message()), HasSubstr("--server 127.0.0.1:"));
}

TEST(AskServer, RefusesTheDefaultOfAProgramThatHasNone) {
  const Program program = SmallProgram();
  v1::FoundMapping result;
  *result.mutable_mapping() = MappingToProto(AllHbmMapping(program), program);
  result.set_solver("default");
  const absl::StatusOr<Solution> solution = Ask(result, program);
  EXPECT_EQ(solution.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(solution.status().message()),
              AllOf(HasSubstr("--server 127.0.0.1:"),
                    HasSubstr("answers with the default of a program without one")));
}

}  // namespace
}  // namespace mallocmuzero::cli
