// Searches and models with which self-play cannot start.

#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "actor/self_play.h"
#include "actor/testing/fixed_model.h"
#include "base/testing/resource_limits.h"
#include "env/action.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/train.pb.h"
#include "model/latent_model.h"

namespace mallocmuzero {
namespace {

using testing::FixedModel;
using ::testing::HasSubstr;

// Makes models that report this number of slots and of actions.
ModelMaker Claiming(uint32_t slots, uint32_t actions) {
  class Claimant final : public FixedModel {
   public:
    Claimant(uint32_t slots, uint32_t actions) : FixedModel(0), slots_(slots), actions_(actions) {}
    uint32_t slots() const override { return slots_; }
    uint32_t actions() const override { return actions_; }

   private:
    uint32_t slots_;
    uint32_t actions_;
  };
  return [=](uint32_t) { return std::make_unique<Claimant>(slots, actions); };
}

absl::Status CreateStatus(uint32_t simulations, uint32_t games, const ModelMaker& make_model) {
  return SelfPlay::Create({.simulations = simulations}, games, make_model).status();
}

TEST(SelfPlay, RefusesASearchThatCannotBe) {
  v1::SearchOptions options;
  options.set_simulations(16);
  options.set_max_considered_actions(16);
  options.set_maxvisit_init(50);
  options.set_value_scale(0.1F);
  EXPECT_TRUE(MakeSearchConfig(options).ok());
  options.set_value_floor(-1);
  EXPECT_FALSE(MakeSearchConfig(options).ok());
}

TEST(SelfPlay, SearchesOfMoreSlotsThanCanBeNumberedAreRefused) {
  // 256 x 2^24 = 2^32, which would be 0 in 32 bits.
  const absl::Status status = CreateStatus((1U << 24) - 1, 256, Claiming(0, kActionCount));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("games * (simulations + 1)"));
}

TEST(SelfPlay, ModelsOfAnotherGameAreRefused) {
  EXPECT_EQ(CreateStatus(6, 2, Claiming(14, kActionCount)), absl::OkStatus());
  EXPECT_EQ(CreateStatus(6, 2, Claiming(14, 4)).message(),
            "self-play: a network of 4 actions, must be 3");
  EXPECT_EQ(CreateStatus(6, 2, Claiming(13, kActionCount)).message(),
            "self-play: a network with 13 latent states, must be 14 or more");
}

TEST(SelfPlay, WhyThereIsNoModelIsPassedOn) {
  const auto no_model = [](uint32_t slots) -> absl::StatusOr<std::unique_ptr<LatentModel>> {
    return absl::NotFoundError(absl::StrCat("none of ", slots, " slots"));
  };
  EXPECT_EQ(CreateStatus(6, 2, no_model), absl::NotFoundError("none of 14 slots"));
}

TEST(SelfPlay, TreesThatDoNotFitInMemoryAreAnError) {
#if defined(ABSL_HAVE_ADDRESS_SANITIZER) || defined(ABSL_HAVE_THREAD_SANITIZER)
  GTEST_SKIP() << "sanitizers take more address space than any limit leaves";
#endif
  // Trees of 64 x 4,000,000 nodes of 128 bytes take 33 GB.
  const ModelMaker make_model = Claiming(64 * 4'000'001, kActionCount);
  const MemoryLimit limit(uint64_t{16} << 30);
  const absl::Status status = CreateStatus(4'000'000, 64, make_model);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(),
            "search: no memory for the trees of 64 games with 4000000 simulations each");
}

}  // namespace
}  // namespace mallocmuzero
