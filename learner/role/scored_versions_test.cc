#include "learner/role/scored_versions.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/size32.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

using ::testing::IsEmpty;

const absl::Time kIdleStart = absl::FromUnixSeconds(1'000'000);

std::shared_ptr<const PublishedWeights> Weights(uint64_t step) {
  PublishedWeights weights;
  weights.notice.set_step(step);
  weights.notice.set_sha256(absl::StrCat("sha256 of ", step));
  return std::make_shared<const PublishedWeights>(std::move(weights));
}

// A program's evaluation games in a report.
struct Played {
  std::string program;
  uint32_t games = 0;
  double mean_return = 0;
};

// The report of an actor that has evaluated the version of this step.
v1::ActorReport Report(const std::string& actor, uint64_t step, const std::vector<Played>& all) {
  v1::ActorReport report;
  report.set_actor(actor);
  report.mutable_candidate_games()->set_sha256(absl::StrCat("sha256 of ", step));
  for (const Played& played : all) {
    auto& added = *report.mutable_candidate_games()->add_programs();
    added.set_program_sha256(played.program);
    added.set_games(played.games);
    added.set_mean_return(played.mean_return);
  }
  return report;
}

uint64_t CandidateStep(const ScoredVersions& versions) {
  return versions.candidate() == nullptr ? 0 : versions.candidate()->notice.step();
}

TEST(ScoredVersions, HaveAScoreOnceEveryProgramHasItsGames) {
  ScoredVersions versions({"p", "q"}, {.least_games = 8});
  versions.Publish(Weights(20));
  versions.AcceptReport(Report("a", 20, {{"p", 6, 0.5}}));
  versions.AcceptReport(Report("b", 20, {{"q", 8, 0.25}}));
  EXPECT_THAT(versions.TakeScored(), IsEmpty());
  versions.AcceptReport(Report("b", 20, {{"p", 2, 0.1}, {"q", 8, 0.25}}));
  const std::vector<ScoredVersion> scored = versions.TakeScored();
  ASSERT_EQ(scored.size(), 1);
  EXPECT_EQ(scored[0].weights->notice.step(), 20);
  EXPECT_EQ(scored[0].scores[0].games, 8);
  // (6 x 0.5 + 2 x 0.1) / 8
  EXPECT_DOUBLE_EQ(scored[0].scores[0].mean_return, 0.4);
  EXPECT_EQ(scored[0].scores[1].games, 8);
  EXPECT_DOUBLE_EQ(scored[0].scores[1].mean_return, 0.25);
  EXPECT_THAT(versions.TakeScored(), IsEmpty());
  EXPECT_EQ(versions.scored(), 1);
}

TEST(ScoredVersions, TheCandidateStaysUntilItHasItsScore) {
  ScoredVersions versions({"p"}, {.least_games = 2});
  EXPECT_EQ(versions.candidate(), nullptr);
  versions.Publish(Weights(20));
  versions.Publish(Weights(40));
  EXPECT_EQ(CandidateStep(versions), 20);
  versions.AcceptReport(Report("a", 20, {{"p", 2, 0.5}}));
  EXPECT_EQ(versions.candidate(), nullptr);
  versions.Publish(Weights(60));
  EXPECT_EQ(CandidateStep(versions), 60);
}

TEST(ScoredVersions, CountOnlyGamesOfTheCandidateAndOfTheirPrograms) {
  ScoredVersions versions({"p"}, {.least_games = 2});
  versions.Publish(Weights(20));
  EXPECT_THAT(versions.AcceptReport(Report("a", 40, {{"p", 9, 0.5}})), IsEmpty());
  EXPECT_THAT(versions.AcceptReport(Report("a", 20, {{"other", 9, 0.5}})), IsEmpty());
  EXPECT_THAT(versions.AcceptReport(v1::ActorReport()), IsEmpty());
  EXPECT_EQ(CandidateStep(versions), 20);
}

TEST(ScoredVersions, GamesOfAnEarlierCandidateDoNotCountForTheNext) {
  ScoredVersions versions({"p"}, {.least_games = 4});
  versions.Publish(Weights(20));
  versions.AcceptReport(Report("a", 20, {{"p", 4, 0.5}}));
  versions.Publish(Weights(40));
  versions.AcceptReport(Report("a", 20, {{"p", 6, 0.5}}));
  versions.AcceptReport(Report("a", 40, {{"p", 3, 0.5}}));
  EXPECT_EQ(CandidateStep(versions), 40);
  versions.AcceptReport(Report("a", 40, {{"p", 4, 0.25}}));
  const std::vector<ScoredVersion> scored = versions.TakeScored();
  ASSERT_EQ(scored.size(), 2);
  EXPECT_EQ(scored[1].scores[0].games, 4);
  EXPECT_DOUBLE_EQ(scored[1].scores[0].mean_return, 0.25);
}

TEST(ScoredVersions, TellWhichScoresHaveChanged) {
  ScoredVersions versions({"p", "q"}, {.least_games = 8});
  versions.Publish(Weights(20));
  versions.AcceptReport(Report("a", 20, {{"p", 1, 0.5}, {"q", 1, 1}}));
  const auto changed = versions.AcceptReport(Report("b", 20, {{"q", 3, 0}}));
  ASSERT_EQ(changed.size(), 1);
  EXPECT_EQ(changed[0].program, 1);
  EXPECT_EQ(changed[0].score.games, 4);
  EXPECT_DOUBLE_EQ(changed[0].score.mean_return, 0.25);
}

// Actors play at random and send reports, some of which are lost, come twice, or come late. In
// every case a score is the mean of the games in each actor's report with the most games.
TEST(ScoredVersions, LostRepeatedAndLateReportsDoNotChangeAScore) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    const std::vector<std::string> programs = {"p", "q", "r"};
    ScoredVersions versions(programs, {.least_games = 1'000'000});
    versions.Publish(Weights(20));
    std::map<std::pair<std::string, std::string>, std::vector<double>> played;
    std::map<std::pair<std::string, std::string>, size_t> arrived;
    std::map<size_t, ScoredVersion::Score> told;
    std::vector<v1::ActorReport> sent;
    for (int i = 0; i < 200; ++i) {
      const std::string actor = absl::StrCat("actor ", random() % 4);
      played[{actor, programs[random() % 3]}].push_back(static_cast<double>(random() % 100));
      std::vector<Played> all;
      for (const std::string& program : programs) {
        const std::vector<double>& games = played[{actor, program}];
        double sum = 0;
        for (const double value : games) sum += value;
        if (games.empty()) continue;
        all.push_back({.program = program,
                       .games = Size32<uint32_t>(games),
                       .mean_return = sum / static_cast<double>(games.size())});
      }
      const v1::ActorReport report = Report(actor, 20, all);
      sent.push_back(report);
      if (random() % 3 == 0) continue;  // lost
      for (const std::string& program : programs) {
        arrived[{actor, program}] = played[{actor, program}].size();
      }
      const v1::ActorReport again = sent[random() % sent.size()];
      for (const auto& changed : versions.AcceptReport(report)) {
        told[changed.program] = changed.score;
      }
      // A report that was lost may arrive now; its games then count.
      for (const auto& program : again.candidate_games().programs()) {
        size_t& count = arrived[{again.actor(), program.program_sha256()}];
        count = std::max<size_t>(count, program.games());
      }
      for (const auto& changed : versions.AcceptReport(again)) {
        told[changed.program] = changed.score;
      }
    }
    for (size_t p = 0; p < programs.size(); ++p) {
      double sum = 0;
      size_t count = 0;
      for (int a = 0; a < 4; ++a) {
        const auto key = std::pair(absl::StrCat("actor ", a), programs[p]);
        for (size_t g = 0; g < arrived[key]; ++g) sum += played[key][g];
        count += arrived[key];
      }
      EXPECT_EQ(told[p].games, count) << seed;
      EXPECT_NEAR(told[p].mean_return, sum / static_cast<double>(count), 1e-9) << seed;
    }
  }
}

class IdleCandidate : public ::testing::Test {
 protected:
  std::optional<uint64_t> Drop(double games, absl::Duration after, uint32_t actors = 2) {
    return versions_.DropIfIdle(actors, games, kIdleStart + after);
  }

  ScoredVersions versions_{
      {"p"}, {.least_games = 4, .patience = absl::Minutes(10), .patience_games = 100}};
};

TEST_F(IdleCandidate, IsDroppedAfterAWhileInWhichActorsPlayed) {
  versions_.Publish(Weights(20));
  EXPECT_EQ(Drop(1000, absl::ZeroDuration()), std::nullopt);
  EXPECT_EQ(Drop(5000, absl::Minutes(9)), std::nullopt);
  EXPECT_EQ(Drop(5000, absl::Minutes(10)), 20);
  EXPECT_EQ(versions_.candidate(), nullptr);
  versions_.Publish(Weights(40));
  EXPECT_EQ(CandidateStep(versions_), 40);
}

TEST_F(IdleCandidate, StaysIfActorsAreAwayOrSlow) {
  versions_.Publish(Weights(20));
  EXPECT_EQ(Drop(1000, absl::ZeroDuration()), std::nullopt);
  EXPECT_EQ(Drop(5000, absl::Hours(1), /*actors=*/0), std::nullopt);
  // Two actors have to play 200 games.
  EXPECT_EQ(Drop(1199, absl::Hours(1)), std::nullopt);
  EXPECT_EQ(CandidateStep(versions_), 20);
  EXPECT_EQ(Drop(1200, absl::Hours(1)), 20);
}

TEST_F(IdleCandidate, StaysWhileItGetsGames) {
  versions_.Publish(Weights(20));
  EXPECT_EQ(Drop(0, absl::ZeroDuration()), std::nullopt);
  versions_.AcceptReport(Report("a", 20, {{"p", 1, 0.5}}));
  EXPECT_EQ(Drop(1000, absl::Minutes(9)), std::nullopt);
  versions_.AcceptReport(Report("a", 20, {{"p", 1, 0.5}}));  // nothing new
  EXPECT_EQ(Drop(2000, absl::Minutes(18)), std::nullopt);
  EXPECT_EQ(Drop(2000, absl::Minutes(19)), 20);
}

TEST_F(IdleCandidate, IsReportedOnceUntilThereIsAnEvaluationGame) {
  const auto publish_and_drop = [&](uint64_t step, absl::Duration after) {
    versions_.Publish(Weights(step));
    EXPECT_EQ(Drop(static_cast<double>(step) * 1000, after), std::nullopt);
    return Drop(static_cast<double>(step) * 1000 + 500, after + absl::Minutes(10));
  };
  EXPECT_EQ(publish_and_drop(20, absl::ZeroDuration()), 20);
  EXPECT_EQ(publish_and_drop(40, absl::Hours(1)), std::nullopt);
  EXPECT_EQ(versions_.candidate(), nullptr);
  versions_.Publish(Weights(60));
  versions_.AcceptReport(Report("a", 60, {{"p", 4, 0.5}}));
  EXPECT_EQ(publish_and_drop(80, absl::Hours(2)), 80);
}

}  // namespace
}  // namespace mallocmuzero
