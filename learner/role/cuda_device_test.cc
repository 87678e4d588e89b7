#include "learner/role/cuda_device.h"

#include <cstdlib>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

TEST(CudaDevice, IsAnElementOfWhatTheProcessSees) {
  EXPECT_EQ(*VisibleDevice(3, ""), "3");
  EXPECT_EQ(*VisibleDevice(1, "4,GPU-7e1,6"), "GPU-7e1");
  EXPECT_EQ(VisibleDevice(3, "4,5,6").status().message(),
            "3 given, 0 to 2 expected: CUDA_VISIBLE_DEVICES is 4,5,6");
}

TEST(CudaDevice, IsThatOfTheRank) {
  v1::LearnerRole learner;
  unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_TRUE(ChooseCudaDevice(learner, 0).ok());
  EXPECT_EQ(getenv("CUDA_VISIBLE_DEVICES"), nullptr);
  learner.add_devices(5);
  learner.add_devices(2);
  EXPECT_TRUE(ChooseCudaDevice(learner, 1).ok());
  EXPECT_STREQ(getenv("CUDA_VISIBLE_DEVICES"), "2");
  // This process sees one device, so there is no device 5.
  EXPECT_THAT(std::string(ChooseCudaDevice(learner, 0).message()),
              ::testing::StartsWith("learner.devices[0]: 5 given, 0 to 0 expected"));
  unsetenv("CUDA_VISIBLE_DEVICES");
}

}  // namespace
}  // namespace mallocmuzero
