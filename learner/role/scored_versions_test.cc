#include "learner/role/scored_versions.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

using ::testing::IsEmpty;

void Add(const std::string& program, uint64_t step, uint32_t games, double mean,
         v1::ActorReport& report) {
  v1::ActorReport::Evaluation& evaluation = *report.add_evaluations();
  evaluation.set_program_sha256(program);
  evaluation.set_network_step(step);
  evaluation.set_games(games);
  evaluation.set_mean_return(mean);
}

v1::ActorReport Report(const std::string& program, uint64_t step, uint32_t games, double mean) {
  v1::ActorReport report;
  Add(program, step, games, mean, report);
  return report;
}

TEST(ScoredVersions, HaveAScoreOnceEveryProgramHasItsGames) {
  ScoredVersions versions({"p", "q"}, {.least_games = 8});
  versions.Publish(20, "weights");
  versions.AcceptReport(Report("p", 20, 6, 0.5));
  versions.AcceptReport(Report("q", 20, 8, 0.25));
  EXPECT_THAT(versions.TakeScored(), IsEmpty());
  versions.AcceptReport(Report("p", 20, 2, 0.1));
  const std::vector<ScoredVersion> scored = versions.TakeScored();
  ASSERT_EQ(scored.size(), 1);
  EXPECT_EQ(scored[0].step, 20);
  EXPECT_EQ(scored[0].bytes, "weights");
  EXPECT_EQ(scored[0].scores[0].games, 8);
  // (6 x 0.5 + 2 x 0.1) / 8
  EXPECT_DOUBLE_EQ(scored[0].scores[0].mean_return, 0.4);
  EXPECT_DOUBLE_EQ(scored[0].scores[1].mean_return, 0.25);
  EXPECT_THAT(versions.TakeScored(), IsEmpty());
}

TEST(ScoredVersions, CountOnlyTheirOwnGames) {
  ScoredVersions versions({"p"}, {.least_games = 2});
  versions.Publish(20, "a");
  versions.Publish(40, "b");
  v1::ActorReport report;
  Add("p", 20, 1, 0.5, report);
  Add("p", 40, 1, 0.5, report);
  Add("p", 60, 9, 0.5, report);
  Add("other", 20, 9, 0.5, report);
  Add("p", 20, 0, 0.5, report);
  versions.AcceptReport(report);
  EXPECT_THAT(versions.TakeScored(), IsEmpty());
  versions.AcceptReport(Report("p", 40, 1, 0.5));
  const std::vector<ScoredVersion> scored = versions.TakeScored();
  ASSERT_EQ(scored.size(), 1);
  EXPECT_EQ(scored[0].step, 40);
}

TEST(ScoredVersions, TheOldestGoesWhenTheMemoryIsFull) {
  ScoredVersions versions({"p"}, {.most_bytes = 10, .least_games = 1});
  versions.Publish(1, "12345");
  versions.Publish(2, "12345");
  versions.Publish(3, "12345");
  versions.AcceptReport(Report("p", 1, 1, 0.5));
  EXPECT_THAT(versions.TakeScored(), IsEmpty());
  versions.AcceptReport(Report("p", 2, 1, 0.5));
  EXPECT_EQ(versions.TakeScored().size(), 1);
  // The newest stays even if it is too large.
  versions.Publish(4, std::string(100, 'x'));
  versions.AcceptReport(Report("p", 3, 1, 0.5));
  EXPECT_THAT(versions.TakeScored(), IsEmpty());
  versions.AcceptReport(Report("p", 4, 1, 0.5));
  EXPECT_EQ(versions.TakeScored().size(), 1);
}

TEST(ScoredVersions, AReportOfImpossibleCountsChangesNothing) {
  ScoredVersions versions({"p"}, {.least_games = UINT32_MAX});
  versions.Publish(1, "w");
  versions.AcceptReport(Report("p", 1, UINT32_MAX - 1, 0.5));
  versions.AcceptReport(Report("p", 1, 2, 0.5));
  EXPECT_THAT(versions.TakeScored(), IsEmpty());
  versions.AcceptReport(Report("p", 1, 1, 0.5));
  EXPECT_EQ(versions.TakeScored().size(), 1);
}

}  // namespace
}  // namespace mallocmuzero
