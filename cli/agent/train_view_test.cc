#include "cli/agent/train_view.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero::cli {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(TrainView, LinesDoNotWrapWhileTheyAreDrawnAndDoAgainBehindThem) {
  EXPECT_EQ(OverwriteText("", "a line\n"), "\x1b[?7la line\n\x1b[?7h");
  // Up by as many lines as there were, clear, draw.
  EXPECT_EQ(OverwriteText("first\nsecond\n", "other\n"), "\x1b[?7l\x1b[2A\x1b[Jother\n\x1b[?7h");
}

v1::TrainMetrics MetricsOfTwoPrograms() {
  v1::TrainMetrics metrics;
  for (const char* name : {"first", "second"}) {
    v1::TrainMetrics::Program& program = *metrics.add_programs();
    program.set_name(name);
    program.set_default_return(0.5);
    program.set_greedy_return(0.5);
  }
  return metrics;
}

TEST(IterationLine, SaysNothingOfBestGamesBeforeThereAreAny) {
  v1::TrainMetrics metrics = MetricsOfTwoPrograms();
  EXPECT_THAT(IterationLine(metrics), Not(HasSubstr("best")));
  metrics.mutable_programs(1)->set_best_return(0.55);  // 0.45 instead of 0.5
  EXPECT_THAT(IterationLine(metrics),
              HasSubstr("; best games of 1 of 2 programs save +10.00 % on average"));
  metrics.mutable_programs(0)->set_best_return(0.5);
  EXPECT_THAT(IterationLine(metrics), HasSubstr("; best games save +5.00 % on average"));
}

TEST(ProgramLines, LeaveTheBestGameOutBeforeThereIsOne) {
  v1::TrainMetrics metrics = MetricsOfTwoPrograms();
  metrics.mutable_programs(1)->set_best_return(0.55);
  // Only greedy's figure, which is the default's.
  EXPECT_THAT(ProgramLines(metrics, 2), ContainsRegex("first +\\+0.00 %"));
  EXPECT_THAT(ProgramLines(metrics, 2), Not(HasSubstr("-100")));
}

TEST(TrainText, SaysWhatIsSavedWithTheSignOfTheProgressLine) {
  v1::TrainReport report;
  v1::TrainReport::Program& program = *report.add_programs();
  program.set_all_hbm_cycles(2e6);
  program.set_default_cycles(1e6);
  program.set_greedy_cycles(1e6);
  program.set_best_cycles(0.9e6);
  const std::string text = TrainText(report);
  EXPECT_THAT(text, AllOf(HasSubstr("cycles saved against the default"), HasSubstr("-100.00 %"),
                          HasSubstr("+10.00 %"), Not(HasSubstr("-10.00 %"))));
}

TEST(TrainText, SaysThatThereIsNoGameYet) {
  v1::TrainReport report;
  v1::TrainReport::Program& program = *report.add_programs();
  program.set_program("lstm");
  program.set_all_hbm_cycles(2e6);
  program.set_default_cycles(1e6);
  program.set_greedy_cycles(1e6);
  EXPECT_THAT(TrainText(report), HasSubstr("no game yet"));
  program.set_best_cycles(0.9e6);
  program.set_best_player("agent");
  EXPECT_THAT(TrainText(report), AllOf(Not(HasSubstr("no game yet")), HasSubstr("agent")));
}

}  // namespace
}  // namespace mallocmuzero::cli
