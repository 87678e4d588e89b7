#include "compiler/compile.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <initializer_list>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "compiler/compile_child.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

using testing::HasSubstr;

constexpr char kFake[] = MALLOCMUZERO_BINARY_DIR "/testing/fake_pjrt_plugin.so";
constexpr char kNoPlugin[] = MALLOCMUZERO_BINARY_DIR "/testing/no_pjrt_plugin.so";

v1::CompileRequest Request(std::initializer_list<const char*> modules) {
  v1::CompileRequest request;
  request.set_library(kFake);
  request.set_topology("v6e:1x1");
  for (const char* module : modules) {
    v1::CompileProgram& program = *request.add_programs();
    program.set_format("mlir");
    program.set_code(module);
    program.set_options("options");
  }
  return request;
}

CompileControl Control() {
  CompileControl control;
  control.child = {MALLOCMUZERO_BINARY_DIR "/testing/compile_child"};
  return control;
}

std::string Text(const absl::Status& status) { return std::string(status.message()); }

// Checks that after every test this process has no children.
class CompileTest : public testing::Test {
 protected:
  ~CompileTest() override {
    unsetenv("FAKE_PJRT");
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
  }
};

TEST_F(CompileTest, BringsBackModuleExecutableAndWhatTheCompilerSays) {
  const absl::StatusOr<v1::CompileResponse> response = Compile(Request({"module {}"}), Control());
  ASSERT_TRUE(response.ok()) << response.status();
  ASSERT_EQ(response->programs_size(), 1);
  const v1::CompiledProgram& program = response->programs(0);
  EXPECT_TRUE(CompileStatus(program).ok());
  EXPECT_EQ(program.module(), "module {}");
  EXPECT_EQ(program.executable(), "v6e:1x1|options");
  EXPECT_EQ(program.fingerprint(), "ff01");
  EXPECT_EQ(program.memory().temporaries(), 4000);
  EXPECT_EQ(program.memory().peak(), 4120);
  EXPECT_FALSE(program.memory().has_total());
  EXPECT_EQ(program.costs().at("flops"), 7);
  EXPECT_EQ(response->compiler().version(), "fake 1.2\nbuilt today");
  EXPECT_EQ(response->compiler().pjrt_minor_version(), 90);
}

TEST_F(CompileTest, DoesWithoutFunctionsThatOnlyDescribe) {
  setenv("FAKE_PJRT", "no_optional", 1);
  const absl::StatusOr<v1::CompileResponse> response = Compile(Request({"module {}"}), Control());
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->programs(0).module(), "module {}");
  EXPECT_FALSE(response->programs(0).has_memory());
  EXPECT_EQ(response->programs(0).fingerprint(), "");
}

TEST_F(CompileTest, ReportsEachProgramThatTheCompilerRefuses) {
  const absl::StatusOr<v1::CompileResponse> response =
      Compile(Request({"@refuse", "@too_large", "good"}), Control());
  ASSERT_TRUE(response.ok()) << response.status();
  const absl::Status refused = CompileStatus(response->programs(0));
  EXPECT_TRUE(absl::IsInternal(refused));
  EXPECT_EQ(Text(refused), "cannot compile this");
  const absl::Status too_large = CompileStatus(response->programs(1));
  EXPECT_TRUE(absl::IsResourceExhausted(too_large));
  EXPECT_EQ(Text(too_large), "Ran out of memory");
  EXPECT_EQ(response->programs(2).module(), "good");
}

TEST_F(CompileTest, GoesOnAfterAProgramOnWhichTheCompilerAborts) {
  const absl::StatusOr<v1::CompileResponse> response =
      Compile(Request({"first", "@abort", "third", "@abort"}), Control());
  ASSERT_TRUE(response.ok()) << response.status();
  ASSERT_EQ(response->programs_size(), 4);
  EXPECT_EQ(response->programs(0).module(), "first");
  const absl::Status aborted = CompileStatus(response->programs(1));
  EXPECT_TRUE(absl::IsAborted(aborted));
  EXPECT_EQ(Text(aborted),
            "the compiler aborted: fake.cc:89] Check failed: 1 == 2 (1 vs. 2) (killed by signal 6 "
            "(Aborted))");
  EXPECT_EQ(response->programs(2).module(), "third");
  EXPECT_TRUE(absl::IsAborted(CompileStatus(response->programs(3))));
}

TEST_F(CompileTest, EndsWhenTimeIsUp) {
  CompileControl control = Control();
  control.timeout = absl::Seconds(5);
  const absl::StatusOr<v1::CompileResponse> response =
      Compile(Request({"first", "@hang", "third"}), control);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->programs(0).module(), "first");
  const absl::Status late = CompileStatus(response->programs(1));
  EXPECT_TRUE(absl::IsDeadlineExceeded(late));
  EXPECT_EQ(Text(late), "the compiler has not finished within 5s");
  EXPECT_TRUE(absl::IsDeadlineExceeded(CompileStatus(response->programs(2))));
}

TEST_F(CompileTest, EndsWhenItIsToStop) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  CompileControl control = Control();
  control.stop_fd = ends[0];
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  const absl::Time start = absl::Now();
  EXPECT_TRUE(absl::IsCancelled(Compile(Request({"@hang"}), control).status()));
  EXPECT_LT(absl::Now() - start, absl::Seconds(60));
  close(ends[0]);
  close(ends[1]);
}

TEST_F(CompileTest, KeepsAllResultsOfAChildThatIsStoppedBeforeItEnds) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  CompileControl control = Control();
  control.stop_fd = ends[0];
  // Answers, then asks to be stopped, and does not end.
  const std::string script = absl::StrCat(control.child[0], " \"$0\" \"$1\"; echo stop > /proc/",
                                          getpid(), "/fd/", ends[1], "; kill -STOP $$");
  control.child = {"/bin/sh", "-c", script};
  const absl::StatusOr<v1::CompileResponse> response = Compile(Request({"first", "last"}), control);
  ASSERT_TRUE(response.ok()) << response.status();
  ASSERT_EQ(response->programs_size(), 2);
  EXPECT_EQ(response->programs(0).module(), "first");
  EXPECT_TRUE(CompileStatus(response->programs(1)).ok());
  EXPECT_EQ(response->programs(1).module(), "last");
  close(ends[0]);
  close(ends[1]);
}

TEST_F(CompileTest, RefusesAnUnknownTopology) {
  v1::CompileRequest request = Request({"module {}"});
  request.set_topology("unknown");
  const absl::Status status = Compile(request, Control()).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_EQ(Text(status), "topology: the compiler does not know 'unknown': no such topology");
}

TEST_F(CompileTest, ReportsAnAbortBeforeTheFirstProgram) {
  v1::CompileRequest request = Request({"module {}"});
  request.set_topology("abort");
  const absl::Status status = Compile(request, Control()).status();
  EXPECT_TRUE(absl::IsAborted(status));
  EXPECT_THAT(Text(status), HasSubstr("fake.cc:89] Check failed"));
}

TEST_F(CompileTest, RefusesVersionsThatItCannotUse) {
  for (const char* version : {"old", "other_major"}) {
    setenv("FAKE_PJRT", version, 1);
    const absl::Status status = Compile(Request({"module {}"}), Control()).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status));
    EXPECT_THAT(Text(status), HasSubstr(version == std::string("old") ? "0.12" : "1.90"));
    EXPECT_THAT(Text(status), HasSubstr("0.57 or a newer one"));
  }
}

TEST_F(CompileTest, RefusesALibraryThatLacksAFunction) {
  setenv("FAKE_PJRT", "truncated", 1);
  const absl::Status status = Compile(Request({"module {}"}), Control()).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(Text(status), HasSubstr("fake_pjrt_plugin.so: lacks a function"));
}

TEST_F(CompileTest, RefusesWhatIsNoPlugin) {
  v1::CompileRequest request = Request({"module {}"});
  request.set_library(kNoPlugin);
  EXPECT_THAT(Text(Compile(request, Control()).status()),
              HasSubstr("no_pjrt_plugin.so: is no PJRT plugin: it has no function GetPjrtApi"));
  request.set_library(MALLOCMUZERO_SOURCE_DIR "/README.md");
  const absl::Status status = Compile(request, Control()).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(Text(status), HasSubstr("cannot load the compiler: "));
}

TEST_F(CompileTest, ReportsAChildThatCannotStart) {
  CompileControl control = Control();
  control.child = {"/no/such/binary"};
  EXPECT_THAT(Text(Compile(Request({"module {}"}), control).status()),
              HasSubstr("cannot be started: No such file or directory"));
}

TEST(CompileRecords, LeaveOutOneThatIsCutShort) {
  v1::CompileResponse first;
  first.add_programs()->set_module("first");
  v1::CompileResponse second;
  second.add_programs()->set_module("second");
  const std::string both = CompileRecord(first) + CompileRecord(second);
  EXPECT_EQ(JoinCompileRecords(both).programs_size(), 2);
  EXPECT_EQ(JoinCompileRecords(both.substr(0, both.size() - 1)).programs_size(), 1);
  EXPECT_EQ(JoinCompileRecords(both.substr(0, 3)).programs_size(), 0);
}

}  // namespace
}  // namespace mallocmuzero
