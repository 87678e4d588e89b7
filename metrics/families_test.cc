#include "metrics/families.h"

#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string TextOf(const prometheus::Registry& registry) {
  return prometheus::TextSerializer().Serialize(registry.Collect());
}

TEST(Raise, IgnoresALowerTotal) {
  prometheus::Registry registry;
  auto& counter = MakeCounter(registry, "some_total", "Some.");
  Raise(counter, 3);
  Raise(counter, 2);
  EXPECT_EQ(counter.Value(), 3);
}

TEST(FollowingHistogram, HasTheLatestTotals) {
  prometheus::Registry registry;
  FollowingHistogram histogram(MakeHistogram(registry, "some_rows", "Some.", {1, 3}));
  histogram.Follow({2, 1, 0}, 4);
  histogram.Follow({2, 4, 5}, 60);
  // Prometheus shows for each bound how many values do not exceed it.
  EXPECT_THAT(TextOf(registry), HasSubstr("some_rows_bucket{le=\"1\"} 2\n"
                                          "some_rows_bucket{le=\"3\"} 6\n"
                                          "some_rows_bucket{le=\"+Inf\"} 11\n"));
  EXPECT_THAT(TextOf(registry), HasSubstr("some_rows_count 11\nsome_rows_sum 60\n"));
}

TEST(ReasonGauges, OnlyThePresentReasonIsOne) {
  enum class Reason { kNone, kDisk, kNetwork };
  prometheus::Registry registry;
  ReasonGauges<Reason> gauges(registry, "some_blocked", "Some.",
                              {{Reason::kDisk, "disk"}, {Reason::kNetwork, "network"}});
  gauges.Set(Reason::kDisk);
  EXPECT_THAT(TextOf(registry), HasSubstr("some_blocked{on=\"disk\"} 1\n"));
  EXPECT_THAT(TextOf(registry), HasSubstr("some_blocked{on=\"network\"} 0\n"));
  gauges.Set(Reason::kNone);
  EXPECT_THAT(TextOf(registry), HasSubstr("some_blocked{on=\"disk\"} 0\n"));
  EXPECT_THAT(TextOf(registry), HasSubstr("some_blocked{on=\"network\"} 0\n"));
}

TEST(RegistryOrOwn, IsTheGivenRegistry) {
  prometheus::Registry registry;
  MakeGauge(RegistryOrOwn(&registry).get(), "some_bytes", "Some.");
  EXPECT_THAT(registry.Collect(), SizeIs(1));
}

TEST(RegistryOrOwn, IsAnotherOneEachTimeWithoutAGivenRegistry) {
  const RegistryOrOwn one(nullptr);
  const RegistryOrOwn other(nullptr);
  MakeGauge(one.get(), "some_bytes", "Some.");
  EXPECT_THAT(one.get().Collect(), SizeIs(1));
  EXPECT_THAT(other.get().Collect(), IsEmpty());
}

}  // namespace
}  // namespace mallocmuzero
