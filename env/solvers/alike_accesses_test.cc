#include "env/solvers/alike_accesses.h"

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "env/program_rules.h"
#include "env/solvers/program_facts.h"
#include "env/testing/games.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/program.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr uint32_t kLayers = 10;

// Layers differ in these.
struct Layer {
  int64_t weight_bytes = 100;
  double cycles = 50;
  double weight_saving = 8;
  bool pins_weight = false;
};

// Each layer reads its weight and the activation of the layer before, and writes an activation: of
// layer k these are accesses 3 k, 3 k + 1 and 3 k + 2.
Program Chain(const std::vector<Layer>& layers) {
  testing::ProgramBuilder builder;
  BufferIndex activation = builder.AddBuffer(64, {.live_in = true});
  for (const Layer& layer : layers) {
    const BufferIndex weight = builder.AddBuffer(
        layer.weight_bytes, {.live_in = true, .pinned_to_hbm = layer.pins_weight});
    const BufferIndex next = builder.AddBuffer(64);
    builder.AddInstruction(layer.cycles, {testing::Read(weight, layer.weight_saving),
                                          testing::Read(activation, 4), testing::Write(next, 4)});
    activation = next;
  }
  return builder.Build();
}

// The accesses that are alike to this one.
std::vector<AccessIndex> AlikeTo(const Program& program, AccessIndex access) {
  const ProgramRules rules = testing::EverythingMatters(program);
  const ProgramFacts facts(rules);
  const AlikeAccesses alike(facts);
  const absl::Span<const AccessIndex> found = alike.To(access);
  return {found.begin(), found.end()};
}

TEST(AlikeAccesses, HaveTheSamePartInLayersThatAreNotAtTheEnds) {
  const Program program = Chain(std::vector<Layer>(kLayers));
  std::vector<AccessIndex> weights;
  std::vector<AccessIndex> activations;
  for (int32_t layer = 1; layer <= 8; ++layer) {
    weights.push_back(AccessIndex(3 * layer));
    activations.push_back(AccessIndex(3 * layer + 1));
  }
  EXPECT_EQ(AlikeTo(program, 3 * 4), weights);
  EXPECT_EQ(AlikeTo(program, 3 * 4 + 1), activations);
}

TEST(AlikeAccesses, AreNotThoseWithOtherBytesCyclesOrSavings) {
  for (const Layer& other :
       {Layer{.weight_bytes = 200}, Layer{.cycles = 60}, Layer{.weight_saving = 7}}) {
    std::vector<Layer> layers(kLayers);
    layers[5] = other;
    const Program program = Chain(layers);
    EXPECT_THAT(AlikeTo(program, 3 * 5), ElementsAre(AccessIndex(3 * 5)));
  }
}

TEST(AlikeAccesses, HaveTheSameSurroundings) {
  std::vector<Layer> layers(kLayers);
  layers[5].cycles = 60;
  const std::vector<AccessIndex> alike = AlikeTo(Chain(layers), 3 * 3);
  EXPECT_THAT(alike, Contains(AccessIndex(3 * 2)));
  EXPECT_THAT(alike, Not(Contains(AccessIndex(3 * 4))));
}

TEST(AlikeAccesses, AreMovable) {
  std::vector<Layer> layers(kLayers);
  for (Layer& layer : layers) layer.pins_weight = true;
  const Program program = Chain(layers);
  EXPECT_THAT(AlikeTo(program, 3 * 4), IsEmpty());
}

TEST(AlikeAccesses, AreNotInAProgramWithoutLayers) {
  std::vector<Layer> layers;
  for (int k = 0; k < 4; ++k) layers.push_back({.cycles = 50.0 + 10 * k});
  const Program different = Chain(layers);
  const Program equal = Chain(std::vector<Layer>(kLayers));
  const ProgramRules rules_of_different = testing::EverythingMatters(different);
  const ProgramRules rules_of_equal = testing::EverythingMatters(equal);
  EXPECT_FALSE(AlikeAccesses(ProgramFacts(rules_of_different)).any());
  EXPECT_TRUE(AlikeAccesses(ProgramFacts(rules_of_equal)).any());
}

}  // namespace
}  // namespace mallocmuzero
