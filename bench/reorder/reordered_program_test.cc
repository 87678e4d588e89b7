#include "bench/reorder/reordered_program.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/message_file.h"
#include "base/random.h"
#include "bench/reorder/order_moves.h"
#include "bench/reorder/unit_model.h"
#include "env/solvers/solution.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/fingerprint.h"
#include "simulator/core/simulate.h"
#include "simulator/validate/validate.h"

namespace mallocmuzero::reorder {
namespace {

using ::testing::IsEmpty;

// Programs with in-place updates (a training step), with loops, and with a cross-program prefetch.
const char* const kPrograms[] = {"tpu_v5e/dense_gcn_4x256_train_n8192",
                                 "tpu_v4i/gpt_scan_12x1024_b8x512", "tpu_v6e/dit_4x1024_b48x256"};

std::unique_ptr<Reorderer> MustLoad(const std::string& name) {
  const std::string folder = MALLOCMUZERO_SOURCE_DIR "/workloads";
  auto reorderer = Reorderer::Load(absl::StrCat(folder, "/", name, ".program"),
                                   absl::StrCat(folder, "/captures/", name));
  EXPECT_TRUE(reorderer.ok()) << reorderer.status();
  return *std::move(reorderer);
}

std::string BytesOf(const google::protobuf::Message& message) {
  return SerializeDeterministically(message);
}

TEST(ReorderedProgram, TheOriginalOrderGivesTheOriginal) {
  for (const char* name : kPrograms) {
    SCOPED_TRACE(name);
    const auto reorderer = MustLoad(name);
    const auto same = reorderer->Build(reorderer->OriginalOrder());
    ASSERT_TRUE(same.ok()) << same.status();
    v1::Program expected = reorderer->original().proto();
    v1::Program found = (*same)->program.proto();
    // clear what depends on the import instead of the order
    for (v1::Program* program : {&expected, &found}) {
      program->clear_header();
      program->clear_source();  // older imports stored none
      program->clear_fingerprint();
      program->clear_calibration();
      program->clear_matches();
      program->clear_notes();
    }
    EXPECT_EQ(BytesOf(found), BytesOf(expected));
  }
}

TEST(ReorderedProgram, EverythingInHbmCostsTheSameInEveryOrder) {
  for (const char* name : kPrograms) {
    SCOPED_TRACE(name);
    const auto reorderer = MustLoad(name);
    const UnitModel model(reorderer->original(), reorderer->graph());
    const OrderMoves moves(reorderer->graph(), model);
    Order order = reorderer->OriginalOrder();
    Random random(1);
    const double expected = SimulateAllHbm(reorderer->original()).total_cycles;
    for (int k = 0; k < 20; ++k) {
      for (int change = 0; change < 20; ++change) moves.Change(order, random);
      ASSERT_TRUE(IsLegal(reorderer->graph(), order));
      const auto built = reorderer->Build(order);
      ASSERT_TRUE(built.ok()) << built.status();
      EXPECT_NEAR(SimulateAllHbm((*built)->program).total_cycles, expected, 1e-6 * expected);
    }
    EXPECT_NE(order, reorderer->OriginalOrder());
  }
}

TEST(ReorderedProgram, ConstructedOrdersAreLegalAndGreedyPlaysThemValidly) {
  for (const char* name : kPrograms) {
    SCOPED_TRACE(name);
    const auto reorderer = MustLoad(name);
    const UnitModel model(reorderer->original(), reorderer->graph());
    for (const NamedOrder& named : ConstructOrders(reorderer->graph(), model)) {
      SCOPED_TRACE(named.name);
      const auto built = reorderer->Build(named.order);
      ASSERT_TRUE(built.ok()) << built.status();
      const auto greedy = Solve("greedy", (*built)->rules, {});
      ASSERT_TRUE(greedy.ok()) << greedy.status();
      EXPECT_THAT(Validate((*built)->program, greedy->mapping), IsEmpty());
      const Plan plan(reorderer->original().access_count(), Action::kCopy);
      EXPECT_EQ((*built)->ToOriginal((*built)->FromOriginal(plan)), plan);
    }
  }
}

TEST(ReorderedProgram, AProgramWithoutADefaultHasNoneInAnyOrder) {
  const std::string folder = MALLOCMUZERO_SOURCE_DIR "/workloads";
  const auto whole = LoadProgram(absl::StrCat(folder, "/", kPrograms[0], ".program"));
  ASSERT_TRUE(whole.ok()) << whole.status();
  v1::Program proto = whole->proto();
  proto.clear_baseline();
  SealProgram(proto);
  const std::string path = ::testing::TempDir() + "/without_default.program";
  ASSERT_TRUE(WriteMessage(path, proto).ok());
  const auto reorderer = Reorderer::Load(path, absl::StrCat(folder, "/captures/", kPrograms[0]));
  ASSERT_TRUE(reorderer.ok()) << reorderer.status();
  const UnitModel model((*reorderer)->original(), (*reorderer)->graph());
  const OrderMoves moves((*reorderer)->graph(), model);
  Order order = (*reorderer)->OriginalOrder();
  Random random(1);
  for (int k = 0; k < 2; ++k) {
    const auto built = (*reorderer)->Build(order);
    ASSERT_TRUE(built.ok()) << built.status();
    EXPECT_FALSE((*built)->program.proto().has_baseline());
    moves.Change(order, random);
  }
}

TEST(ReorderedProgram, RefusesAnOrderThatBreaksADependency) {
  const auto reorderer = MustLoad(kPrograms[0]);
  Order order = reorderer->OriginalOrder();
  std::swap(order.front(), order.back());
  EXPECT_EQ(reorderer->Build(order).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace mallocmuzero::reorder
