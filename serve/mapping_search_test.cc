#include "serve/mapping_search.h"

#include <atomic>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "base/steady_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serve/testing/requests.h"
#include "simulator/core/mapping.h"
#include "simulator/core/simulate.h"
#include "simulator/validate/validate.h"

namespace mallocmuzero {
namespace {

using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class MappingSearchTest : public ::testing::Test {
 protected:
  MappingSearchTest() {
    settings_.limits = {.max_program_bytes = 1 << 20, .max_budget_seconds = 60};
    settings_.search.simulations = 2;
  }

  absl::StatusOr<SearchFigures> Search() {
    MappingRequest asked;
    asked.request = &request_;
    asked.arrived = SteadyNow();
    asked.deadline = deadline_;
    asked.stop = stop_;
    asked.send = [this](v1::FindMappingResponse response) {
      answers_.push_back(std::move(response));
    };
    return SearchMapping(asked, settings_);
  }

  v1::FindMappingRequest request_ = testing::LayersRequest(40, 0.2);
  absl::Time deadline_ = absl::InfiniteFuture();
  std::function<bool()> stop_ = [] { return false; };
  SearchSettings settings_;
  std::vector<v1::FindMappingResponse> answers_;
};

TEST_F(MappingSearchTest, AnswersAreValidMappingsAtTheirPriceAndGetBetter) {
  request_.set_budget_seconds(1);  // enough for a better mapping, also on a busy machine
  const auto figures = Search();
  ASSERT_TRUE(figures.ok()) << figures.status();
  EXPECT_GT(figures->games, 1);
  ASSERT_THAT(answers_, SizeIs(Ge(3)));
  ASSERT_TRUE(answers_.front().has_started());
  ASSERT_TRUE(answers_.back().has_result());
  EXPECT_EQ(answers_.back().result().games(), figures->games);
  const auto program = MakeRequestProgram(request_, settings_.limits, stop_);
  const double all_hbm = answers_.front().started().all_hbm_cycles();
  double before = all_hbm;
  for (size_t k = 1; k < answers_.size(); ++k) {
    const bool last = k + 1 == answers_.size();
    ASSERT_EQ(answers_[k].has_result(), last);
    const v1::FoundMapping& found = last ? answers_[k].result() : answers_[k].better();
    const auto mapping = MappingFromProto(found.mapping(), (*program)->program());
    ASSERT_TRUE(mapping.ok()) << mapping.status();
    EXPECT_THAT(Validate((*program)->program(), *mapping), IsEmpty());
    EXPECT_DOUBLE_EQ(Simulate((*program)->program(), *mapping).total_cycles, found.cycles());
    EXPECT_DOUBLE_EQ(found.gain(), 1 - found.cycles() / all_hbm);
    EXPECT_LE(found.cycles(), before);
    before = found.cycles();
  }
}

TEST_F(MappingSearchTest, SendsOnlyTheResultIfAskedTo) {
  request_.set_result_only(true);
  ASSERT_TRUE(Search().ok());
  ASSERT_THAT(answers_, SizeIs(2));
  EXPECT_TRUE(answers_.back().has_result());
}

TEST_F(MappingSearchTest, EndsWhenItIsToldToAndKeepsTheBest) {
  request_.set_budget_seconds(60);
  stop_ = [this] { return answers_.size() > 1; };
  const absl::Time start = SteadyNow();
  const auto figures = Search();
  ASSERT_TRUE(figures.ok()) << figures.status();
  EXPECT_LT(SteadyNow() - start, absl::Seconds(30));
  EXPECT_TRUE(figures->interrupted);
  EXPECT_TRUE(answers_.back().result().interrupted());
}

TEST_F(MappingSearchTest, LeavesTimeForTheAnswerBeforeTheDeadline) {
  request_.set_budget_seconds(60);
  stop_ = [this] { return !answers_.empty(); };  // once it has said how long it will search
  deadline_ = SteadyNow() + absl::Seconds(20);
  ASSERT_TRUE(Search().ok());
  EXPECT_LE(answers_.front().started().search_seconds(), 19);
  answers_.clear();
  deadline_ = SteadyNow() - absl::Seconds(1);
  EXPECT_EQ(Search().status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(MappingSearchTest, DoesNotBeginWhatIsCancelled) {
  stop_ = [] { return true; };
  EXPECT_EQ(Search().status().code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(answers_, IsEmpty());
}

TEST_F(MappingSearchTest, TheAgentNeedsANetwork) {
  request_.set_solver("agent");
  EXPECT_EQ(Search().status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace mallocmuzero
