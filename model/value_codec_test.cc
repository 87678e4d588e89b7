#include "model/value_codec.h"

#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::FloatNear;

std::vector<float> Distribution(const ValueCodec& codec, float x) {
  const ValueCodec::TwoHot two_hot = codec.Encode(x);
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
  EXPECT_THAT(codec.ToScale((e * e - 1) / 2), FloatEq(2));
  EXPECT_THAT(codec.ToScale(-(e * e - 1) / 2), FloatEq(-2));
  EXPECT_THAT(codec.FromScale(2), FloatEq((e * e - 1) / 2));
  EXPECT_THAT(codec.ToScale(1e-5F), FloatNear(2e-5F, 1e-9F));  // close to x / resolution
  EXPECT_EQ(codec.ToScale(0), 0);
}

TEST(ValueCodec, SharesANumberBetweenItsNeighbours) {
  // Bins at -2, -1, 0, 1, 2. FromScale(1.25) lies a quarter of the way from 1 to 2.
  const ValueCodec codec(5, 2, 1);
  const ValueCodec::TwoHot two_hot = codec.Encode(std::expm1(1.25F));
  EXPECT_EQ(two_hot.lower, 3);
  EXPECT_THAT(two_hot.upper_weight, FloatNear(0.25F, 1e-6F));
  const ValueCodec::TwoHot negative = codec.Encode(-std::expm1(1.25F));
  EXPECT_EQ(negative.lower, 0);
  EXPECT_THAT(negative.upper_weight, FloatNear(0.75F, 1e-6F));
}

TEST(ValueCodec, DecodesWhatItEncodesOnBothSidesUpToTheEdge) {
  const ValueCodec codec(41, 7, 0.004F);
  // 0.004 x (e^7 - 1) = 4.38253.
  EXPECT_THAT(codec.max_value(), FloatNear(4.38253F, 1e-4F));
  for (const float x : {0.0F, 1e-6F, 1e-4F, 0.004F, 0.05F, 0.3F, 1.0F, 3.0F, codec.max_value()}) {
    EXPECT_THAT(codec.Decode(Distribution(codec, x)), FloatNear(x, 1e-5F * x + 1e-8F));
    EXPECT_THAT(codec.Decode(Distribution(codec, -x)), FloatNear(-x, 1e-5F * x + 1e-8F));
  }
}

TEST(ValueCodec, ClampsBeyondTheEdge) {
  const ValueCodec codec(41, 7, 0.004F);
  EXPECT_THAT(codec.Decode(Distribution(codec, 100)), FloatEq(codec.max_value()));
  EXPECT_THAT(codec.Decode(Distribution(codec, -100)), FloatEq(-codec.max_value()));
  EXPECT_EQ(codec.Encode(100).lower, 39);
  EXPECT_EQ(codec.Encode(100).upper_weight, 1);
  EXPECT_EQ(codec.Encode(-100).lower, 0);
  EXPECT_EQ(codec.Encode(-100).upper_weight, 0);
}

TEST(ValueCodec, DecodesTheExpectationOnTheScale) {
  // 0.5 x 2 + 0.25 x 0 + 0.25 x -1 = 0.75.
  EXPECT_THAT(ValueCodec(5, 2, 1).Decode({0, 0.25F, 0.25F, 0, 0.5F}), FloatEq(std::expm1(0.75F)));
  EXPECT_EQ(ValueCodec(3, 2, 1).Decode({0.25F, 0.5F, 0.25F}), 0);
}

}  // namespace
}  // namespace mallocmuzero
