#include "model/export/samples.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "env/observation_layout.h"
#include "env/testing/random_program_set.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/architecture.h"
#include "model/network_config.h"
#include "model/testing/random_network.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(RecordDecisions, TakesLegalActionsOfGamesOfAllPrograms) {
  const ProgramSet programs = testing::RandomProgramSet(2, 5);
  const RecordedDecisions decisions = RecordDecisions(programs, 40, 1);
  ASSERT_EQ(decisions.actions.size(), 40);
  ASSERT_EQ(decisions.observations.size(), 40 * kObservationSize);
  std::set<float> sizes;  // a feature that tells the programs apart
  for (size_t row = 0; row < 40; ++row) {
    const float* observation = &decisions.observations[row * kObservationSize];
    EXPECT_EQ(observation[observation::kDecisionOffset + decisions.actions[row]], 1)
        << "action of row " << row << " is not legal";
    sizes.insert(observation[observation::kProgramOffset + observation::kBufferBytes]);
  }
  EXPECT_EQ(sizes.size(), programs.size());
}

TEST(RecordDecisions, DependOnTheSeedAlone) {
  const ProgramSet programs = testing::RandomProgramSet(2, 5);
  const RecordedDecisions once = RecordDecisions(programs, 30, 1);
  EXPECT_EQ(RecordDecisions(programs, 30, 1).observations, once.observations);
  EXPECT_NE(RecordDecisions(programs, 30, 2).actions, once.actions);
}

TEST(EvaluateDecisions, GivesEveryInputAndOutput) {
  const ProgramSet programs = testing::RandomProgramSet(1, 5);
  const auto network = testing::MakeRandomNetwork(NetworkPreset("tiny").value(), 1);
  std::vector<std::string> names;
  for (const NamedTensor& tensor : EvaluateDecisions(*network, RecordDecisions(programs, 3, 1))) {
    names.push_back(tensor.name);
    EXPECT_EQ(tensor.shape[0], 3) << tensor.name;
  }
  EXPECT_THAT(names, ElementsAre("observation", "action", "latent", "policy_logits", "value_logits",
                                 "value", "next_latent", "reward_logits", "reward"));
}

TEST(NumpyFile, HasAnAlignedHeaderAndTheBytes) {
  NamedTensor tensor = {.name = "x", .shape = {2, 3}, .bytes = std::string(24, 'b')};
  const std::string file = NumpyFile(tensor);
  EXPECT_THAT(file, StartsWith(std::string("\x93NUMPY\x01\x00", 8)));
  const size_t head = static_cast<uint8_t>(file[8]) + 256 * static_cast<uint8_t>(file[9]);
  EXPECT_EQ((10 + head) % 64, 0);
  EXPECT_EQ(file[10 + head - 1], '\n');
  EXPECT_THAT(file.substr(10, head),
              HasSubstr("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3,), }"));
  EXPECT_EQ(file.substr(10 + head), tensor.bytes);
  tensor.type = v1::CheckpointHeader::Tensor::TYPE_INT64;
  EXPECT_THAT(NumpyFile(tensor), HasSubstr("'descr': '<i8'"));
}

}  // namespace
}  // namespace mallocmuzero
