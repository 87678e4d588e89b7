#include "model/modules.h"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "env/observation_layout.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/network.h"
#include "model/network_config.h"
#include "model/testing/random_network.h"
#include "model/testing/scalar_codec.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;

v1::NetworkConfig TwoBlocks() {
  v1::NetworkConfig config = NetworkPreset("tiny").value();
  config.set_dynamics_blocks(2);
  config.set_representation_blocks(2);
  config.set_memory_blocks(2);
  return config;
}

torch::Tensor Observations(int64_t batch, uint64_t seed) {
  const std::vector<float> rows = testing::MakeRandomObservations(batch, seed);
  return torch::tensor(rows).view({batch, kObservationSize});
}

std::vector<float> Numbers(const torch::Tensor& tensor) {
  const torch::Tensor flat = tensor.detach().contiguous();
  return {flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel()};
}

// The sum of the cross-entropies of all predictions of two unrolled steps against fixed targets.
torch::Tensor Loss(MuZeroNetImpl& net, const ValueCodec& codec, const torch::Tensor& observations) {
  const int64_t batch = observations.size(0);
  const torch::Tensor actions = torch::arange(batch) % 3;
  const torch::Tensor value = EncodeTwoHot(codec, torch::linspace(-0.5, 0.5, batch));
  const torch::Tensor policy = torch::one_hot(actions, 3).to(torch::kFloat32);
  const auto entropy = [](const torch::Tensor& target, const torch::Tensor& logits) {
    return -(target * torch::log_softmax(logits, -1)).sum(-1).mean();
  };
  const InitialOutput initial = net.Initial(observations);
  torch::Tensor loss =
      entropy(value, initial.value_logits) + entropy(policy, initial.policy_logits);
  torch::Tensor latent = initial.latent;
  for (int step = 0; step < 2; ++step) {
    const RecurrentOutput next = net.Recurrent(latent, actions);
    loss = loss + entropy(value, next.value_logits) + entropy(policy, next.policy_logits) +
           entropy(value, next.reward_logits);
    latent = next.latent;
  }
  return loss;
}

TEST(Modules, OutputsHaveTheirShapes) {
  for (const char* name : {"tiny", "small", "base"}) {
    const v1::NetworkConfig config = NetworkPreset(name).value();
    MuZeroNet net(config, 1);
    const InitialOutput initial = net->Initial(Observations(5, 1));
    EXPECT_THAT(initial.latent.sizes().vec(), ElementsAre(5, config.latent()));
    EXPECT_THAT(initial.policy_logits.sizes().vec(), ElementsAre(5, 3));
    EXPECT_THAT(initial.value_logits.sizes().vec(), ElementsAre(5, config.bins()));
    const RecurrentOutput next = net->Recurrent(initial.latent, torch::zeros({5}, torch::kInt64));
    EXPECT_THAT(next.latent.sizes().vec(), ElementsAre(5, config.latent()));
    EXPECT_THAT(next.reward_logits.sizes().vec(), ElementsAre(5, config.bins()));
    EXPECT_THAT(next.policy_logits.sizes().vec(), ElementsAre(5, 3));
    EXPECT_THAT(next.value_logits.sizes().vec(), ElementsAre(5, config.bins()));
  }
}

TEST(Modules, LatentStatesHaveMeanZeroAndVarianceOne) {
  MuZeroNet net(TwoBlocks(), 1);
  const torch::Tensor latent = net->Initial(Observations(5, 1)).latent;
  const torch::Tensor next = net->Recurrent(latent, torch::zeros({5}, torch::kInt64)).latent;
  for (const torch::Tensor& state : {latent, next}) {
    EXPECT_LT(state.mean(1).abs().max().item<float>(), 1e-5F);
    EXPECT_LT((state.var(1, /*unbiased=*/false) - 1).abs().max().item<float>(), 1e-3F);
  }
}

TEST(Modules, LatentModelGivesWhatTheModulesGive) {
  SetComputeThreads(1);
  const auto network = testing::MakeRandomNetwork(TwoBlocks(), 1);
  const ValueCodec codec(network->config());
  const torch::Tensor observations = Observations(4, 2);
  const auto model = network->MakeLatentModel(12, {}).value();
  const torch::NoGradGuard no_gradient;

  std::vector<float> values(4), rewards(4), logits(12);
  const Evaluations out = {absl::MakeSpan(values), absl::MakeSpan(rewards), absl::MakeSpan(logits)};
  const InitialOutput initial = network->module()->Initial(observations);
  model->EvaluateRoots(Numbers(observations), {0, 1, 2, 3}, out);
  const auto near = [](const torch::Tensor& tensor) {
    return Pointwise(FloatNear(1e-5F), Numbers(tensor));
  };
  EXPECT_THAT(values,
              near(DecodeLogits(codec, BinCenters(codec, torch::kCPU), initial.value_logits)));
  EXPECT_THAT(logits, near(initial.policy_logits));

  torch::Tensor latent = initial.latent;
  for (uint32_t slot = 0; slot < 8; slot += 4) {
    const RecurrentOutput next =
        network->module()->Recurrent(latent, torch::tensor({2, 0, 1, 2}, torch::kInt64));
    model->EvaluateSteps(std::vector<LatentStep>{{slot, slot + 4, 2},
                                                 {slot + 1, slot + 5, 0},
                                                 {slot + 2, slot + 6, 1},
                                                 {slot + 3, slot + 7, 2}},
                         out);
    EXPECT_THAT(values,
                near(DecodeLogits(codec, BinCenters(codec, torch::kCPU), next.value_logits)));
    EXPECT_THAT(rewards,
                near(DecodeLogits(codec, BinCenters(codec, torch::kCPU), next.reward_logits)));
    EXPECT_THAT(logits, near(next.policy_logits));
    latent = next.latent;
  }
}

TEST(Modules, ShiftsGiveAConvolutionOneStepEachWay) {
  // One channel at each of three times.
  Graph graph("net.");
  const Graph::Value times = graph.Reshape(graph.Input("x", 3), {3, 1});
  const Graph::Value steps =
      graph.Concat({graph.Shift(times, 1), times, graph.Shift(times, -1)}, 2);
  graph.AddOutput("y", graph.Add(times, graph.Relu(graph.Linear(steps, "taps", 1))));
  GraphModule convolution(graph);
  const torch::Tensor x = torch::tensor({1.0F, 2.0F, 4.0F}).view({1, 3});
  const torch::NoGradGuard no_gradient;
  convolution->layer("net.taps")->weight.copy_(torch::tensor({100.0F, 10.0F, 1.0F}).view({1, 3}));
  convolution->layer("net.taps")->bias.zero_();
  // Each result is x + 100 x (the step before) + 10 x (this step) + 1 x (the step after).
  EXPECT_THAT(Numbers(convolution->forward({x})[0]), ElementsAre(1 + 12, 2 + 124, 4 + 240));
}

TEST(Modules, GradientOfTheLatentIsHalvedAndItsValueKept) {
  const torch::Tensor x = torch::tensor({0.1F, -1e30F, 3.0F}, torch::requires_grad());
  const torch::Tensor halved = HalveGradient(x);
  EXPECT_EQ(Numbers(halved), Numbers(x));
  halved.sum().backward();
  EXPECT_THAT(Numbers(x.grad()), ElementsAre(0.5F, 0.5F, 0.5F));
}

TEST(Modules, ConsistencyTeachesTheDynamicsAndNotTheTarget) {
  MuZeroNet net(TwoBlocks(), 1);
  net->AddConsistencyHead(TwoBlocks(), 2);
  const torch::Tensor latent = net->Initial(Observations(5, 1)).latent.detach();
  const torch::Tensor reached = net->Initial(Observations(5, 2)).latent;
  const torch::Tensor next = net->Recurrent(latent, torch::zeros({5}, torch::kInt64)).latent;
  const torch::Tensor loss = net->consistency->Loss(next, reached);
  EXPECT_THAT(loss.sizes().vec(), ElementsAre(5));
  EXPECT_LE(loss.abs().max().item<float>(), 1.0001F);
  loss.sum().backward();
  for (const char* block : {"dynamics.block_0.in", "dynamics.block_1.in"}) {
    EXPECT_GT(net->dynamics->layer(block)->weight.grad().abs().max().item<float>(), 0) << block;
  }
  EXPECT_GT(net->consistency->projection->weight.grad().abs().max().item<float>(), 0);
  // The target is the only path to the representation, and it carries no gradient.
  for (const torch::Tensor& parameter : net->representation->parameters()) {
    EXPECT_FALSE(parameter.grad().defined());
  }
}

TEST(Modules, ConsistencyIsMinusOneWhereThePredictionPointsTheSameWay) {
  ConsistencyHead head(4);
  const torch::NoGradGuard no_gradient;
  // For any state the prediction is 3 or -3 times the projection of the target.
  const torch::Tensor state = torch::tensor({1.0F, -1.0F, 1.0F, -1.0F}).view({1, 4});
  const torch::Tensor target = head->Project(state);
  for (const float sign : {3.0F, -3.0F}) {
    head->prediction->weight.zero_();
    head->prediction->bias.copy_(sign * target[0]);
    EXPECT_NEAR(head->Loss(state, state).item<float>(), sign > 0 ? -1 : 1, 1e-5);
  }
}

TEST(Modules, AConsistencyHeadLeavesTheOtherWeightsAlone) {
  MuZeroNet with(TwoBlocks(), 1);
  MuZeroNet without(TwoBlocks(), 1);
  with->AddConsistencyHead(TwoBlocks(), 1);
  for (const auto& parameter : without->named_parameters()) {
    EXPECT_EQ(Numbers(parameter.value()), Numbers(with->named_parameters()[parameter.key()]));
  }
}

TEST(Modules, GradientReachesEveryParameter) {
  const auto network = testing::MakeRandomNetwork(TwoBlocks(), 1);
  Loss(*network->module(), ValueCodec(network->config()), Observations(16, 2)).backward();
  for (const auto& parameter : network->module()->named_parameters()) {
    ASSERT_TRUE(parameter.value().grad().defined()) << parameter.key();
    EXPECT_GT(parameter.value().grad().abs().max().item<float>(), 0) << parameter.key();
  }
}

TEST(Modules, StepsDownTheGradientLowerTheLoss) {
  MuZeroNet net(TwoBlocks(), 1);
  const ValueCodec codec(TwoBlocks());
  const torch::Tensor observations = Observations(16, 2);
  float before = 0;
  for (int step = 0; step < 10; ++step) {
    net->zero_grad();
    const torch::Tensor loss = Loss(*net, codec, observations);
    if (step == 0) before = loss.item<float>();
    loss.backward();
    const torch::NoGradGuard no_gradient;
    for (torch::Tensor& parameter : net->parameters()) parameter.sub_(parameter.grad() * 0.1);
  }
  // Predictions are uniform at first: 3 policies of 3 actions and 5 numbers of 41 bins.
  EXPECT_NEAR(before, 3 * std::log(3.0) + 5 * std::log(41.0), 1e-3);
  EXPECT_LT(Loss(*net, codec, observations).item<float>(), 0.9F * before);
}

TEST(Modules, TwoHotTensorsAgreeWithPlainArithmetic) {
  const ValueCodec codec(41, 7, 0.004F);
  const std::vector<float> numbers = {-100, -2, -0.01F, 0, 1e-5F, 0.3F, 4.3F, 100};
  const torch::Tensor distributions = EncodeTwoHot(codec, torch::tensor(numbers));
  EXPECT_THAT(distributions.sizes().vec(), ElementsAre(8, 41));
  for (size_t k = 0; k < numbers.size(); ++k) {
    const std::vector<float> row = Numbers(distributions[static_cast<int64_t>(k)]);
    const testing::TwoHot expected = testing::Encode(codec, numbers[k]);
    EXPECT_THAT(row[expected.lower], FloatNear(1 - expected.upper_weight, 1e-5F)) << numbers[k];
    EXPECT_THAT(row[expected.lower + 1], FloatNear(expected.upper_weight, 1e-5F)) << numbers[k];
  }
  const std::vector<float> decoded =
      Numbers(DecodeLogits(codec, BinCenters(codec, torch::kCPU), torch::log(distributions)));
  for (size_t k = 1; k + 1 < numbers.size(); ++k) {
    EXPECT_THAT(decoded[k], FloatNear(numbers[k], 1e-5F * std::abs(numbers[k]) + 1e-8F));
  }
}

TEST(Modules, TensorsSurviveTheirNamedForm) {
  const std::vector<torch::Tensor> tensors = {
      torch::tensor({1.5F, -2.0F}).view({2, 1}), torch::tensor({7}, torch::kInt64).view({}),
      torch::tensor({1, 2, 255}, torch::kUInt8), torch::zeros({0, 3}),
      torch::arange(6, torch::kFloat32).view({2, 3}).t()};
  for (const torch::Tensor& tensor : tensors) {
    const torch::Tensor back = ToTorch(ToNamedTensor("x", tensor).value());
    EXPECT_EQ(back.scalar_type(), tensor.scalar_type());
    EXPECT_TRUE(torch::equal(back, tensor)) << tensor;
  }
  EXPECT_EQ(ToNamedTensor("x", torch::zeros({1}, torch::kFloat64)).status().message(),
            "tensor x: type Double cannot be stored, only float32, int64 and uint8");
}

}  // namespace
}  // namespace mallocmuzero
