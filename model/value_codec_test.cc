#include "model/value_codec.h"

#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/testing/scalar_codec.h"

namespace mallocmuzero {
namespace {

using testing::Decode;
using ::testing::ElementsAre;
using testing::Encode;
using ::testing::FloatEq;
using ::testing::FloatNear;
using testing::MaxValue;
using testing::ToScale;
using testing::TwoHot;

std::vector<float> Distribution(const ValueCodec& codec, float x) {
  const TwoHot two_hot = Encode(codec, x);
  std::vector<float> probabilities(codec.bins());
  probabilities[two_hot.lower] = 1 - two_hot.upper_weight;
  probabilities[two_hot.lower + 1] += two_hot.upper_weight;
  return probabilities;
}

TEST(ValueCodec, SpacesBinsEquallyAroundZero) {
  EXPECT_THAT(ValueCodec(5, 3, 1).centers(), ElementsAre(-3, -1.5F, 0, 1.5F, 3));
}

TEST(ValueCodec, ScaleIsLogarithmicBeyondTheResolution) {
  const ValueCodec codec(5, 3, 0.5F);
  const float e = std::exp(1.0F);
  // log(1 + x / 0.5) = 2 for x = (e^2 - 1) / 2.
  EXPECT_THAT(ToScale(codec, (e * e - 1) / 2), FloatEq(2));
  EXPECT_THAT(ToScale(codec, -(e * e - 1) / 2), FloatEq(-2));
  EXPECT_THAT(codec.FromScale(2), FloatEq((e * e - 1) / 2));
  EXPECT_THAT(ToScale(codec, 1e-5F), FloatNear(2e-5F, 1e-9F));  // close to x / resolution
  EXPECT_EQ(ToScale(codec, 0), 0);
}

TEST(ValueCodec, SharesANumberBetweenItsNeighbours) {
  // The bins are at -2, -1, 0, 1, 2. On this scale the number lies a quarter of the way from 1 to
  // 2.
  const ValueCodec codec(5, 2, 1);
  const TwoHot two_hot = Encode(codec, std::expm1(1.25F));
  EXPECT_EQ(two_hot.lower, 3);
  EXPECT_THAT(two_hot.upper_weight, FloatNear(0.25F, 1e-6F));
  const TwoHot negative = Encode(codec, -std::expm1(1.25F));
  EXPECT_EQ(negative.lower, 0);
  EXPECT_THAT(negative.upper_weight, FloatNear(0.75F, 1e-6F));
}

TEST(ValueCodec, DecodesWhatItEncodesOnBothSidesUpToTheEdge) {
  const ValueCodec codec(41, 7, 0.004F);
  // 0.004 x (e^7 - 1) = 4.38253.
  EXPECT_THAT(MaxValue(codec), FloatNear(4.38253F, 1e-4F));
  for (const float x : {0.0F, 1e-6F, 1e-4F, 0.004F, 0.05F, 0.3F, 1.0F, 3.0F, MaxValue(codec)}) {
    EXPECT_THAT(Decode(codec, Distribution(codec, x)), FloatNear(x, 1e-5F * x + 1e-8F));
    EXPECT_THAT(Decode(codec, Distribution(codec, -x)), FloatNear(-x, 1e-5F * x + 1e-8F));
  }
}

TEST(ValueCodec, ClampsBeyondTheEdge) {
  const ValueCodec codec(41, 7, 0.004F);
  EXPECT_THAT(Decode(codec, Distribution(codec, 100)), FloatEq(MaxValue(codec)));
  EXPECT_THAT(Decode(codec, Distribution(codec, -100)), FloatEq(-MaxValue(codec)));
  EXPECT_EQ(Encode(codec, 100).lower, 39);
  EXPECT_EQ(Encode(codec, 100).upper_weight, 1);
  EXPECT_EQ(Encode(codec, -100).lower, 0);
  EXPECT_EQ(Encode(codec, -100).upper_weight, 0);
}

TEST(ValueCodec, DecodesTheExpectationOnTheScale) {
  // 0.5 x 2 + 0.25 x 0 + 0.25 x -1 = 0.75.
  EXPECT_THAT(Decode(ValueCodec(5, 2, 1), {0, 0.25F, 0.25F, 0, 0.5F}), FloatEq(std::expm1(0.75F)));
  EXPECT_EQ(Decode(ValueCodec(3, 2, 1), {0.25F, 0.5F, 0.25F}), 0);
}

}  // namespace
}  // namespace mallocmuzero
