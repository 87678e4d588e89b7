#include "cluster/supervisor.h"

#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/steady_clock.h"
#include "base/testing/resource_limits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

// The shell command by which a process tells that it is ready.
constexpr char kReady[] = "eval \"printf 1 >&$MALLOCMUZERO_READY_FD\"; ";

// The shell command that waits until the command `condition` is successful.
std::string Until(absl::string_view condition) {
  return absl::StrCat("until ", condition, "; do sleep 0.05; done; ");
}

// The shell command of a process that runs until SIGTERM and its trap end it.
constexpr char kUntilSigterm[] = "while :; do sleep 0.05; done";

// The shell command by which a process suspends itself, and writes `line` once it is suspended.
std::string SuspendAndWrite(absl::string_view line) {
  return absl::StrCat("(", Until("grep -q 'State:.T' /proc/$$/status"), "echo ", line,
                      ") & kill -STOP $$; ");
}

// Runs shell scripts under a supervisor until one of them writes "stop", for two minutes at most.
class SupervisorTest : public testing::Test {
 protected:
  SupervisorTest() : stop_fd_(eventfd(0, EFD_CLOEXEC)) {
    std::string pattern = (std::filesystem::temp_directory_path() / "supervisor-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    options_.log_folder = folder_ + "/logs";
    options_.backoff = {.initial = absl::Milliseconds(1), .maximum = absl::Milliseconds(5)};
    options_.grace = absl::Minutes(1);  // a busy machine may be slow to end a process
    options_.on_line = [this](absl::string_view name, absl::string_view line) {
      lines_.push_back(absl::StrCat(name, ": ", line));
      if (line == "stop") Stop();
    };
    options_.on_event = [this](LogLevel, const std::string& text) { events_.push_back(text); };
  }
  ~SupervisorTest() override {
    close(stop_fd_);
    std::filesystem::remove_all(folder_);
  }

  void Add(const std::string& name, const std::string& script, int stage = 0) {
    options_.processes.push_back(
        {.name = name, .command = {"/bin/sh", "-c", script}, .stage = stage});
  }

  // The list of processes becomes `list` once these lines were written.
  void ChangeListOnce(const std::vector<std::string>& lines, std::vector<SupervisedProcess> list) {
    options_.refresh = [this, lines, change = std::optional(std::move(list))]() mutable {
      const bool were_written = absl::c_all_of(
          lines, [this](const std::string& line) { return absl::c_linear_search(lines_, line); });
      return were_written ? std::exchange(change, std::nullopt) : std::nullopt;
    };
  }

  void Stop() const {
    const uint64_t one = 1;
    ASSERT_EQ(write(stop_fd_, &one, sizeof(one)), sizeof(one));
  }

  absl::Status RunAll() {
    absl::StatusOr<std::unique_ptr<Supervisor>> supervisor = Supervisor::Create(options_);
    if (!supervisor.ok()) return supervisor.status();
    supervisor_ = supervisor->get();
    const absl::Status status = (*supervisor)->Run(stop_fd_, SteadyNow() + absl::Minutes(2));
    supervisor_ = nullptr;
    restarts_ = (*supervisor)->restarts();
    EXPECT_EQ((*supervisor)->running(), 0);
    return status;
  }

  // The pauses before the new starts of a process that ends three times.
  std::vector<std::string> PausesOfThreeEnds() {
    options_.backoff = {.initial = absl::Milliseconds(1), .multiplier = 2, .jitter = 0};
    Add("a", absl::StrCat("echo x >> ", folder_, "/runs; test $(wc -l < ", folder_,
                          "/runs) -ge 4 && echo stop && exec sleep 60; exit 1"));
    EXPECT_TRUE(RunAll().ok());
    std::vector<std::string> pauses;
    for (const std::string& event : events_) {
      const std::pair<std::string, std::string> parts =
          absl::StrSplit(event, absl::MaxSplits("; starts again in ", 1));
      if (!parts.second.empty()) pauses.push_back(parts.second);
    }
    return pauses;
  }

  std::string Log(const std::string& name) const {
    std::ifstream file(folder_ + "/logs/" + name);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  std::string folder_;
  int stop_fd_;
  SupervisorOptions options_;
  std::vector<std::string> lines_;
  std::vector<std::string> events_;
  uint64_t restarts_ = 0;
  const Supervisor* supervisor_ = nullptr;  // while RunAll runs
};

TEST_F(SupervisorTest, StartsAgainWhatEnds) {
  // The third start of the process writes "stop".
  Add("a", "echo x >> " + folder_ + "/runs; test $(wc -l < " + folder_ +
               "/runs) -ge 3 && echo stop && exec sleep 60; exit 1");
  EXPECT_TRUE(RunAll().ok());
  EXPECT_EQ(restarts_, 2);
  EXPECT_THAT(lines_, ElementsAre("a: stop"));
  EXPECT_THAT(events_[1], HasSubstr("a: exited with code 1; starts again in "));
}

TEST_F(SupervisorTest, APauseIsLongerThanTheOneBeforeUnlessTheProcessHasSettled) {
  options_.settled = absl::InfiniteDuration();
  EXPECT_THAT(PausesOfThreeEnds(), ElementsAre("1ms", "2ms", "4ms"));
}

TEST_F(SupervisorTest, PausesBeginAnewOnceAProcessHasSettled) {
  options_.settled = absl::ZeroDuration();
  EXPECT_THAT(PausesOfThreeEnds(), ElementsAre("1ms", "1ms", "1ms"));
}

TEST_F(SupervisorTest, StagesStartOnceTheOnesBeforeAreReadyAndStopTheOtherWayRound) {
  // The trap comes first, because SIGTERM may arrive right after the first output.
  const std::string trap = "trap 'echo end; exit 0' TERM; ";
  Add("late", absl::StrCat(trap, "echo begin; echo stop; ", kUntilSigterm), 1);
  Add("early", absl::StrCat(trap, "sleep 0.1; echo begin; ", kReady, kUntilSigterm), 0);
  EXPECT_TRUE(RunAll().ok());
  EXPECT_THAT(lines_,
              ElementsAre("early: begin", "late: begin", "late: stop", "late: end", "early: end"));
}

TEST_F(SupervisorTest, AStageThatIsNeverReadyHoldsUpNobodyForEver) {
  options_.ready_timeout = absl::Milliseconds(50);
  Add("early", "exec sleep 60", 0);
  Add("late", "echo stop; exec sleep 60", 1);
  EXPECT_TRUE(RunAll().ok());
  EXPECT_THAT(lines_, ElementsAre("late: stop"));
  EXPECT_THAT(absl::StrJoin(events_, "\n"), HasSubstr("not all processes are ready"));
}

TEST_F(SupervisorTest, KillsWhatDoesNotStop) {
  options_.grace = absl::Milliseconds(100);
  Add("a", "trap '' TERM; echo stop; while :; do sleep 0.01; done");
  EXPECT_TRUE(RunAll().ok());
  EXPECT_THAT(events_.back(), HasSubstr("a: killed by signal 9 (Killed)"));
}

// Processor time of this process, in seconds.
double ProcessorSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return absl::ToDoubleSeconds(absl::DurationFromTimeval(usage.ru_utime) +
                               absl::DurationFromTimeval(usage.ru_stime));
}

TEST_F(SupervisorTest, SleepsWhileProcessesStop) {
  // The next stage would be due while the supervisor waits for the end of this one.
  options_.ready_timeout = absl::Milliseconds(500);
  options_.grace = absl::Milliseconds(1500);
  Add("early", "trap '' TERM; echo stop; while :; do sleep 0.05; done", 0);
  Add("late", "exec sleep 60", 1);
  const double before = ProcessorSeconds();
  EXPECT_TRUE(RunAll().ok());
  EXPECT_LT(ProcessorSeconds() - before, 0.5);
}

TEST_F(SupervisorTest, StopsAProcessThatIsSuspended) {
  Add("a", absl::StrCat("trap 'echo end; exit 0' TERM; ", SuspendAndWrite("stop"), "sleep 60"));
  EXPECT_TRUE(RunAll().ok());
  EXPECT_THAT(lines_, ElementsAre("a: stop", "a: end"));
}

TEST_F(SupervisorTest, FollowsAListThatChanges) {
  Add("a", absl::StrCat(kReady, "trap 'echo ended; exit 0' TERM; echo begin; ", kUntilSigterm));
  Add("b", absl::StrCat(kReady, "sleep 100"));
  // The new process ends the test once the one that left has ended.
  const SupervisedProcess c = {
      .name = "c",
      .command = {"/bin/sh", "-c",
                  absl::StrCat(Until(absl::StrCat("grep -q ended ", folder_, "/logs/a.log")),
                               "echo stop; sleep 100")}};
  ChangeListOnce({"a: begin"}, {options_.processes[1], c});
  EXPECT_TRUE(RunAll().ok());
  EXPECT_THAT(lines_, ElementsAre("a: begin", "a: ended", "c: stop"));
  EXPECT_EQ(restarts_, 0);
  EXPECT_THAT(absl::StrJoin(events_, "\n"),
              testing::AllOf(HasSubstr("a: stops for good"), HasSubstr("a: exited with code 0")));
}

TEST_F(SupervisorTest, StopsASuspendedProcessThatLeavesTheList) {
  Add("a", absl::StrCat(kReady, "trap 'echo stop; exit 0' TERM; ", SuspendAndWrite("suspended"),
                        kUntilSigterm));
  Add("b", absl::StrCat(kReady, "sleep 100"));
  ChangeListOnce({"a: suspended"}, {options_.processes[1]});
  EXPECT_TRUE(RunAll().ok());
  EXPECT_THAT(lines_, ElementsAre("a: suspended", "a: stop"));
}

TEST_F(SupervisorTest, AProcessThatLeavesTheListGetsSigtermOnce) {
  // All are told to stop while the first process still handles that it leaves. It ends after the
  // second one has got SIGTERM.
  const std::string file = folder_ + "/b_stops";
  Add("a", absl::StrCat("trap 'echo stop; ", Until("test -e " + file), "exit 0' TERM; ", kReady,
                        "echo begin; ", kUntilSigterm));
  Add("b", absl::StrCat("trap 'touch ", file, "; exit 0' TERM; ", kReady, "echo begin; ",
                        kUntilSigterm));
  ChangeListOnce({"a: begin", "b: begin"}, {options_.processes[1]});
  EXPECT_TRUE(RunAll().ok());
  EXPECT_THAT(lines_, UnorderedElementsAre("a: begin", "b: begin", "a: stop"));
}

TEST_F(SupervisorTest, ANewProcessOfTheListCountsFromItsStart) {
  Add("a", absl::StrCat(kReady, "sleep 100"));
  options_.refresh = [&]() -> std::optional<std::vector<SupervisedProcess>> {
    std::vector<SupervisedProcess> processes = options_.processes;
    processes.push_back({.name = "b", .command = {"/bin/sh", "-c", "echo stop; sleep 100"}});
    return processes;
  };
  std::vector<std::string> counts;
  options_.on_event = [&](LogLevel, const std::string& text) {
    if (!absl::StrContains(text, ": started")) return;
    counts.push_back(absl::StrCat(supervisor_->running(), " of ", supervisor_->processes()));
  };
  EXPECT_TRUE(RunAll().ok());
  EXPECT_EQ(counts.back(), "2 of 2");
}

TEST_F(SupervisorTest, AProcessThatComesBackWhileItStopsStartsAgain) {
  // The first process of this name ends once the list has changed twice. The second one ends the
  // test.
  const std::string file = folder_ + "/is_back";
  Add("a", absl::StrCat("test -e ", file, " && echo stop && exec sleep 60; trap '",
                        Until("test -e " + file), "exit 0' TERM; ", kReady, "echo begin; ",
                        kUntilSigterm));
  Add("b", absl::StrCat(kReady, "sleep 100"));
  int changes = 0;
  options_.refresh = [&]() -> std::optional<std::vector<SupervisedProcess>> {
    if (lines_.empty() || changes == 2) return std::nullopt;
    if (++changes == 1) return std::vector<SupervisedProcess>{options_.processes[1]};
    std::ofstream(file) << "";
    return options_.processes;
  };
  EXPECT_TRUE(RunAll().ok());
  EXPECT_THAT(lines_, ElementsAre("a: begin", "a: stop"));
}

TEST_F(SupervisorTest, ANewProcessThatCannotRunEndsNoOther) {
  Add("good", absl::StrCat(kReady, "echo begin; exec sleep 100"));
  options_.on_event = [this](LogLevel, const std::string& text) {
    events_.push_back(text);
    if (absl::StrContains(text, "It is left out")) Stop();
  };
  const SupervisedProcess bad = {.name = "bad", .command = {"/bin/sh", "-c", "exit 2"}};
  ChangeListOnce({"good: begin"}, {options_.processes[0], bad});
  EXPECT_TRUE(RunAll().ok());
  EXPECT_THAT(lines_, ElementsAre("good: begin"));
  EXPECT_THAT(
      absl::StrJoin(events_, "\n"),
      HasSubstr("bad cannot run: it exited with code 2 3 times; its log says why. It is left "
                "out until the list changes"));
}

TEST_F(SupervisorTest, AProcessGetsItsFirstArgumentsUntilItWasReady) {
  // The second start gets ready, and the third one ends the test. With -c, sh takes the first
  // argument for its name.
  Add("a", absl::StrCat("echo x >> ", folder_, "/runs; n=$(wc -l < ", folder_,
                        "/runs); echo $n $1; test $n -eq 2 && ", kReady,
                        "test $n -eq 3 && echo stop && exec sleep 60; exit 1"));
  options_.processes[0].command.emplace_back("a");
  options_.processes[0].first_arguments = {"--first"};
  EXPECT_TRUE(RunAll().ok());
  EXPECT_THAT(lines_, ElementsAre("a: 1 --first", "a: 2 --first", "a: 3", "a: stop"));
}

TEST_F(SupervisorTest, GivesUpWhatCannotRun) {
  Add("good", absl::StrCat(kReady, "exec sleep 60"));
  Add("bad", "echo no such thing; exit 2");
  const absl::Status status = RunAll();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("bad cannot run: it exited with code 2 3 times"));
  EXPECT_THAT(lines_,
              ElementsAre("bad: no such thing", "bad: no such thing", "bad: no such thing"));
}

TEST_F(SupervisorTest, DoesNotGiveUpWhatHasRunBefore) {
  // The first start gets ready. The next ones exit with code 2, more often than a process that was
  // never ready may, until the seventh start writes "stop".
  Add("a", absl::StrCat("echo x >> ", folder_, "/runs; n=$(wc -l < ", folder_, "/runs); ",
                        "test $n -eq 1 && ", kReady,
                        "test $n -ge 7 && echo stop && exec sleep 60; ", "exit 2"));
  EXPECT_TRUE(RunAll().ok());
  EXPECT_EQ(restarts_, 6);
}

TEST_F(SupervisorTest, AProgramThatIsNotThereIsSaidSo) {
  options_.processes.push_back({.name = "a", .command = {"/no/such/program"}});
  options_.hopeless_exit_code = 127;
  EXPECT_FALSE(RunAll().ok());
  EXPECT_EQ(lines_[0], "a: cannot be started: No such file or directory");
}

TEST_F(SupervisorTest, KeepsWhatProcessesWrite) {
  Add("a", "echo out; echo error >&2; printf 'no end'; exit 7");
  Add("b", absl::StrCat(Until(absl::StrCat("grep -q 'no end' ", folder_, "/logs/a.log")),
                        "echo stop; exec sleep 60"));
  EXPECT_TRUE(RunAll().ok());
  EXPECT_THAT(Log("a.log"), testing::StartsWith("out\nerror\nno end\n"));
  EXPECT_THAT(Log("b.log"), HasSubstr("stop\n"));
}

TEST_F(SupervisorTest, LogsDoNotGrowForEver) {
  options_.most_log_bytes = 100'000;
  // The process writes 10,000 lines of 101 bytes.
  Add("a", "yes $(printf '%0100d' 0) | head -n 10000; echo stop; exec sleep 60");
  EXPECT_TRUE(RunAll().ok());
  EXPECT_EQ(lines_.size(), 10001);
  EXPECT_LE(std::filesystem::file_size(folder_ + "/logs/a.log"), 100'000);
  EXPECT_LE(std::filesystem::file_size(folder_ + "/logs/a.log.1"), 100'000);
}

TEST_F(SupervisorTest, ALineWithoutEndIsCut) {
  Add("a", "head -c 40000 /dev/zero | tr '\\0' x; echo; echo stop; exec sleep 60");
  EXPECT_TRUE(RunAll().ok());
  ASSERT_EQ(lines_.size(), 4);
  // The 40,000 bytes give two lines of 16,384 and one with the rest, each after "a: ".
  EXPECT_EQ(lines_[0].size(), 16384 + 3);
  EXPECT_EQ(lines_[2].size(), 40000 - 2 * 16384 + 3);
}

TEST_F(SupervisorTest, StopsThoughItHasMoreProcessesThanItCanStart) {
  constexpr int kProcesses = 40;
  Add("first", "echo stop; exec sleep 60");
  for (int i = 1; i < kProcesses; ++i) Add(absl::StrCat("p", i), "exec sleep 60");
  const int next_file = dup(stop_fd_);
  close(next_file);
  // Each process has a log file. There are files for a dozen running processes besides, and not
  // three for each of all.
  const ResourceLimit limit(RLIMIT_NOFILE, next_file + kProcesses + 40);
  EXPECT_TRUE(RunAll().ok());
  EXPECT_THAT(lines_, ElementsAre("first: stop"));
}

TEST_F(SupervisorTest, AFolderThatCannotBeWrittenToIsRefused) {
  std::ofstream(folder_ + "/logs") << "a file";
  EXPECT_EQ(RunAll().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(SupervisorTest, LeavesNoProcessBehind) {
  Add("a", "trap '' TERM; echo $$; echo stop; exec sleep 60");
  pid_t pid = 0;
  options_.on_line = [&](absl::string_view, absl::string_view line) {
    if (line == "stop") return Stop();
    ASSERT_TRUE(absl::SimpleAtoi(line, &pid));
  };
  options_.grace = absl::Milliseconds(1);
  EXPECT_TRUE(RunAll().ok());
  ASSERT_GT(pid, 0);
  EXPECT_EQ(kill(pid, 0), -1);
}

}  // namespace
}  // namespace mallocmuzero
