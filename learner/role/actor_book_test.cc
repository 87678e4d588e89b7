#include "learner/role/actor_book.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "env/program_rules.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rpc/protocol.h"

namespace mallocmuzero {
namespace {

using ::testing::HasSubstr;

const absl::Time kStart = absl::FromUnixSeconds(1'000'000);

v1::ActorReport ReportOf(const std::string& actor, uint64_t games) {
  v1::ActorReport report;
  report.set_actor(actor);
  report.set_rules_version(kGameRulesVersion);
  report.set_games(games);
  report.set_decisions(10 * games);
  report.set_network_step(30);
  return report;
}

void AddOutcome(v1::ActorReport& report, const std::string& program, uint64_t games, double mean) {
  v1::ActorReport::Outcome& outcome = *report.add_outcomes();
  outcome.set_program_sha256(program);
  outcome.set_games(games);
  outcome.set_mean_return(mean);
  outcome.set_best_return(mean + 1);
}

TEST(ActorBook, RefusesActorsOfOtherRulesInOneLine) {
  ActorBook book({"p"});
  v1::ActorReport report = ReportOf("a", 5);
  report.set_rules_version(0);  // of a release before the field
  const absl::Status refused = book.Report(report, kStart);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.message(), HasSubstr("the actor's release has rules 0"));
  EXPECT_TRUE(book.Describe(100, kStart).empty());
}

TEST(ActorBook, KeepsNoFieldsThatItDoesNotKnow) {
  ActorBook book({"p"});
  // Field 2047, a string.
  v1::ActorReport report;
  ASSERT_TRUE(report.ParseFromString(ReportOf("a", 5).SerializeAsString() + "\xfa\x7f\x01x"));
  ASSERT_GT(report.SerializeAsString().size(), ReportOf("a", 5).SerializeAsString().size());
  ASSERT_TRUE(book.Report(report, kStart).ok());
  EXPECT_EQ(book.StoredBytes(), ReportOf("a", 5).ByteSizeLong());
}

TEST(ActorBook, KeepsNoListsOfAReport) {
  ActorBook book({"p"});
  v1::ActorReport report = ReportOf("a", 5);
  AddOutcome(report, "p", 2, 0.5);
  report.mutable_candidate_games()->set_sha256(std::string(32, 'c'));
  report.mutable_candidate_games()->add_programs()->set_program_sha256("p");
  report.add_demonstrated("p");
  // An actor can send any number of these, of programs that are not there, too.
  for (int k = 0; k < 1000; ++k) report.add_known_games()->set_program_sha256(std::string(32, 'k'));
  ASSERT_TRUE(book.Report(report, kStart).ok());
  EXPECT_EQ(book.StoredBytes(), ReportOf("a", 5).ByteSizeLong());
}

TEST(ActorBook, TellsRatesLagAndSilence) {
  ActorBook book({"p"});
  ASSERT_TRUE(book.Report(ReportOf("a", 5), kStart).ok());
  ASSERT_TRUE(book.Report(ReportOf("a", 11), kStart + absl::Seconds(2)).ok());
  const auto peers = book.Describe(100, kStart + absl::Seconds(7));
  ASSERT_EQ(peers.size(), 1);
  EXPECT_EQ(peers[0].name(), "a");
  EXPECT_EQ(peers[0].role(), v1::RoleStatus::ACTOR);
  EXPECT_DOUBLE_EQ(peers[0].silent_seconds(), 5);
  EXPECT_DOUBLE_EQ(peers[0].figures().at("games_per_second"), 3);  // (11 - 5) / 2
  EXPECT_DOUBLE_EQ(peers[0].figures().at("policy_lag"), 70);
  const ActorTotals totals = book.Totals(100, kStart + absl::Seconds(7));
  EXPECT_EQ(totals.actors, 1);
  // The 5 games of the first report do not count, since an earlier process of the learner may have
  // counted them.
  EXPECT_DOUBLE_EQ(totals.games, 6);
  EXPECT_DOUBLE_EQ(totals.decisions, 60);
  EXPECT_EQ(totals.largest_lag, 70);
}

TEST(ActorBook, OneThatLeavesIsSpokenOfNoMore) {
  ActorBook book({"p"});
  ASSERT_TRUE(book.Report(ReportOf("a", 5), kStart).ok());
  ASSERT_TRUE(book.Report(ReportOf("b", 5), kStart).ok());
  v1::ActorReport last = ReportOf("a", 8);
  AddOutcome(last, "p", 1, 0.4);
  last.set_leaving(true);
  ASSERT_TRUE(book.Report(last, kStart + absl::Seconds(2)).ok());
  const auto peers = book.Describe(100, kStart + absl::Seconds(3));
  ASSERT_EQ(peers.size(), 1);
  EXPECT_EQ(peers[0].name(), "b");
  // The games of an actor that has left still count.
  EXPECT_DOUBLE_EQ(book.Totals(100, kStart + absl::Seconds(3)).games, 3);
  EXPECT_DOUBLE_EQ(book.MeanReturns()[0]->share(), 0.4);
}

// An actor whose report got no answer sends the same outcomes again.
TEST(ActorBook, CountsOutcomesThatComeTwiceOnce) {
  ActorBook book({"p"});
  v1::ActorReport report = ReportOf("a", 5);
  AddOutcome(report, "p", 1, 4);
  report.set_outcomes_number(1);
  ASSERT_TRUE(book.Report(report, kStart).ok());
  v1::ActorReport second = ReportOf("a", 6);
  AddOutcome(second, "p", 1, 0);
  second.set_outcomes_number(2);
  ASSERT_TRUE(book.Report(second, kStart).ok());
  EXPECT_DOUBLE_EQ(book.MeanReturns()[0]->share(), 2);  // of 4 and 0
  ASSERT_TRUE(book.Report(second, kStart).ok());
  ASSERT_TRUE(book.Report(ReportOf("a", 6), kStart).ok());  // without outcomes
  ASSERT_TRUE(book.Report(second, kStart).ok());
  EXPECT_DOUBLE_EQ(book.MeanReturns()[0]->share(), 2);
  // Another actor has numbers of its own.
  v1::ActorReport other = ReportOf("b", 1);
  AddOutcome(other, "p", 1, 8);
  other.set_outcomes_number(1);
  ASSERT_TRUE(book.Report(other, kStart).ok());
  EXPECT_DOUBLE_EQ(book.MeanReturns()[0]->share(), 4);  // of 4, 0 and 8
}

TEST(ActorBook, PassesOnWhatAnActorLacks) {
  ActorBook book({"p"});
  v1::ActorReport report = ReportOf("a", 5);
  report.set_trouble("shard a: Connection refused, 3 trajectories wait");
  ASSERT_TRUE(book.Report(report, kStart).ok());
  EXPECT_EQ(book.Describe(100, kStart)[0].trouble(), report.trouble());
  report.set_trouble(std::string(300, 'x'));
  EXPECT_THAT(std::string(book.Report(report, kStart).message()), HasSubstr("report.trouble"));
}

TEST(ActorBook, PassesOnNoControlCharacters) {
  ActorBook book({"p"});
  v1::ActorReport report = ReportOf("a", 1);
  report.set_blocked_on("learner\x1b[2J");
  report.set_trouble("shard s:\nno answer");
  ASSERT_TRUE(book.Report(report, kStart).ok());
  const v1::RoleStatus status = book.Describe(0, kStart).at(0);
  EXPECT_EQ(status.blocked_on(), "learner [2J");
  EXPECT_EQ(status.trouble(), "shard s: no answer");
}

TEST(ActorBook, PassesOnNoControlCharactersBeyondAscii) {
  ActorBook book({"p"});
  v1::ActorReport report = ReportOf("a", 1);
  report.set_trouble(
      "shard \xc2\x9b"
      "2J \xc3\xa9\xc2\xa0!");  // U+009B, e with an accent, U+00A0
  ASSERT_TRUE(book.Report(report, kStart).ok());
  EXPECT_EQ(book.Describe(0, kStart).at(0).trouble(), "shard   2J \xc3\xa9\xc2\xa0!");
  EXPECT_TRUE(absl::IsInvalidArgument(book.Report(ReportOf("a\xc2\x85", 1), kStart)));
}

TEST(ActorBook, KeepsItsMeansHoweverManyGamesAnActorReports) {
  ActorBook book({"p"});
  v1::ActorReport report = ReportOf("a", 1);
  AddOutcome(report, "p", std::numeric_limits<uint64_t>::max(), 0.4);
  ASSERT_TRUE(book.Report(report, kStart).ok());
  report.clear_outcomes();
  AddOutcome(report, "p", 1, 0.5);
  ASSERT_TRUE(book.Report(report, kStart).ok());
  // One game of the latest 64.
  EXPECT_DOUBLE_EQ(book.MeanReturns()[0]->share(), 0.4 + (0.5 - 0.4) / 64);
  EXPECT_DOUBLE_EQ(book.BestReturns()[0]->share(), 1.5);
}

TEST(ActorBook, AveragesOutcomesByTheirGames) {
  ActorBook book({"p", "q"});
  v1::ActorReport report = ReportOf("a", 1);
  AddOutcome(report, "p", 1, 0.4);
  AddOutcome(report, "unknown", 9, 0.9);
  ASSERT_TRUE(book.Report(report, kStart).ok());
  EXPECT_DOUBLE_EQ(book.MeanReturns()[0]->share(), 0.4);
  EXPECT_FALSE(book.MeanReturns()[1].has_value());
  report = ReportOf("b", 1);
  AddOutcome(report, "p", 3, 0.8);
  ASSERT_TRUE(book.Report(report, kStart).ok());
  EXPECT_DOUBLE_EQ(book.MeanReturns()[0]->share(), 0.7);  // (0.4 + 3 x 0.8) / 4
  EXPECT_DOUBLE_EQ(book.BestReturns()[0]->share(), 1.8);
}

TEST(ActorBook, ForgetsWhoIsGone) {
  ActorBook book({"p"});
  ASSERT_TRUE(book.Report(ReportOf("a", 0), kStart).ok());
  ASSERT_TRUE(book.Report(ReportOf("a", 5), kStart).ok());
  EXPECT_EQ(book.Describe(0, kStart + absl::Minutes(6)).size(), 0);
  EXPECT_EQ(book.Totals(0, kStart + absl::Minutes(6)).actors, 0);
  EXPECT_DOUBLE_EQ(book.Totals(0, kStart + absl::Minutes(6)).games, 5);  // its games still count
}

TEST(ActorBook, AFullBookForgetsWhoIsSilentFirst) {
  ActorBook book({});
  v1::ActorReport report = ReportOf("", 1);
  report.set_blocked_on(std::string(256, 'x'));
  report.set_trouble(std::string(256, 'x'));
  for (int k = 0; k < 20'000; ++k) {
    report.set_actor(absl::StrCat(std::string(250, 'x'), k));
    ASSERT_TRUE(book.Report(report, kStart).ok());
  }
  EXPECT_TRUE(absl::IsResourceExhausted(book.Report(ReportOf("new", 1), kStart)));
  // All of them fit into one answer.
  size_t bytes = 0;
  for (const v1::RoleStatus& status : book.Describe(0, kStart)) bytes += status.ByteSizeLong() + 8;
  EXPECT_LT(bytes, kMaxMessageBytes);
  EXPECT_TRUE(book.Report(ReportOf("new", 1), kStart + absl::Seconds(11)).ok());
  EXPECT_EQ(book.Describe(0, kStart + absl::Seconds(11)).size(), 1);
}

TEST(ActorBook, RefusesWhatNoActorSays) {
  ActorBook book({"p"});
  EXPECT_THAT(book.Report(ReportOf("", 1), kStart).message(), HasSubstr("report.actor"));
  EXPECT_THAT(book.Report(ReportOf(std::string(300, 'x'), 1), kStart).message(),
              HasSubstr("report.actor"));
  v1::ActorReport report = ReportOf("a", 1);
  AddOutcome(report, "p", 1, std::nan(""));
  EXPECT_THAT(book.Report(report, kStart).message(), HasSubstr("report.outcomes"));
  report = ReportOf("a", 1);
  report.mutable_candidate_games()->add_programs()->set_mean_return(std::nan(""));
  EXPECT_THAT(book.Report(report, kStart).message(), HasSubstr("report.candidate_games"));
  report = ReportOf("a", 1);
  AddOutcome(report, "p", 1, -1e300);
  EXPECT_THAT(book.Report(report, kStart).message(), HasSubstr("report.outcomes"));
  report = ReportOf("a", 1);
  report.mutable_candidate_games()->add_programs()->set_mean_return(1e300);
  EXPECT_THAT(book.Report(report, kStart).message(), HasSubstr("report.candidate_games"));
  report.clear_candidate_games();
  report.mutable_candidate_games()->add_programs()->set_games(4000000000);
  EXPECT_THAT(book.Report(report, kStart).message(), HasSubstr("10,000 games"));
  report.mutable_candidate_games()->mutable_programs(0)->set_games(10001);
  EXPECT_THAT(book.Report(report, kStart).message(), HasSubstr("10,000 games"));
  EXPECT_THAT(book.Report(ReportOf("\x1b[2J", 1), kStart).message(), HasSubstr("control"));
  EXPECT_EQ(book.Totals(0, kStart).actors, 0);
}

TEST(ActorBook, TakesTheMostGamesOfACandidate) {
  ActorBook book({"p"});
  v1::ActorReport report = ReportOf("a", 1);
  report.mutable_candidate_games()->add_programs()->set_games(10000);
  EXPECT_EQ(book.Report(report, kStart), absl::OkStatus());
}

TEST(ActorBook, ACountThatFallsIsNoHugeIncrease) {
  ActorBook book({"p"});
  ASSERT_TRUE(book.Report(ReportOf("a", 5), kStart).ok());
  ASSERT_TRUE(book.Report(ReportOf("a", 2), kStart + absl::Seconds(1)).ok());
  EXPECT_DOUBLE_EQ(book.Totals(0, kStart + absl::Seconds(1)).games, 0);
}

TEST(ActorBook, GamesSearchedAgainAreNoNewGames) {
  ActorBook book({"p"});
  v1::ActorReport report = ReportOf("a", 0);
  report.set_reanalyse(true);
  ASSERT_TRUE(book.Report(report, kStart).ok());
  report.set_games(7);
  ASSERT_TRUE(book.Report(report, kStart + absl::Seconds(1)).ok());
  EXPECT_DOUBLE_EQ(book.Totals(0, kStart).games, 0);
  EXPECT_EQ(book.Totals(0, kStart).reanalysers, 1);
}

}  // namespace
}  // namespace mallocmuzero
