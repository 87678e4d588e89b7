#include "model/export/torch_script.h"

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/serialization/import.h>

#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "env/action.h"
#include "env/observation_layout.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/architecture.h"
#include "model/modules.h"
#include "model/network_config.h"
#include "model/testing/random_network.h"

namespace mallocmuzero {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class TorchScript : public ::testing::Test {
 protected:
  void SetUp() override { SetComputeThreads(1); }

  // The outputs of the exported network, loaded anew.
  std::vector<torch::Tensor> Run(const Graph& graph, const std::vector<torch::Tensor>& inputs) {
    const NetworkWeights weights(network_->ExportWeights());
    std::istringstream file(TorchScriptModule(graph, weights, ValueCodec(config_)).value());
    torch::jit::Module module = torch::jit::load(file);
    const torch::NoGradGuard no_gradient;
    const auto outputs = module.forward({inputs.begin(), inputs.end()}).toTuple();
    std::vector<torch::Tensor> tensors;
    for (const torch::IValue& output : outputs->elements()) tensors.push_back(output.toTensor());
    return tensors;
  }

  static v1::NetworkConfig Config() {
    v1::NetworkConfig config = NetworkPreset("small").value();
    config.set_head_hidden(11);
    config.set_latent(6);
    return config;
  }

  const v1::NetworkConfig config_ = Config();
  const Architecture architecture_{config_};
  const std::unique_ptr<Network> network_ = testing::MakeRandomNetwork(config_, 1);
};

TEST_F(TorchScript, GivesWhatTheModulesGiveForEveryBatch) {
  const torch::NoGradGuard no_gradient;
  const ValueCodec codec(config_);
  for (const int64_t batch : {1, 7, 64}) {
    const torch::Tensor observations = torch::tensor(testing::MakeRandomObservations(batch, 2))
                                           .view({batch, int64_t{kObservationSize}});
    const torch::Tensor actions = torch::arange(batch) % kActionCount;
    const InitialOutput initial = network_->module()->Initial(observations);
    const RecurrentOutput next = network_->module()->Recurrent(initial.latent, actions);
    const auto latent = Run(architecture_.representation(), {observations});
    const auto root = Run(architecture_.prediction(), latent);
    const auto step = Run(architecture_.dynamics(), {latent[0], actions});
    const std::pair<torch::Tensor, torch::Tensor> pairs[] = {
        {latent.at(0), initial.latent},
        {root.at(0), initial.policy_logits},
        {root.at(1), initial.value_logits},
        {root.at(2), DecodeLogits(codec, BinCenters(codec, torch::kCPU), initial.value_logits)},
        {step.at(0), next.latent},
        {step.at(1), next.reward_logits},
        {step.at(2), DecodeLogits(codec, BinCenters(codec, torch::kCPU), next.reward_logits)}};
    for (const auto& [exported, expected] : pairs) {
      EXPECT_EQ(exported.sizes(), expected.sizes());
      EXPECT_LT((exported - expected).abs().max().item<float>(), 1e-5F) << batch;
    }
  }
}

TEST_F(TorchScript, RefusesANetworkThatAFileHasNoRoomFor) {
  // 17 blocks of two layers of 4,096 x 4,096 floats take 17 x 2 x 64 MiB = 2,176 MiB. No weight is
  // looked up.
  v1::NetworkConfig large = config_;
  large.set_latent(4096);
  large.set_dynamics_blocks(17);
  const Architecture architecture(large);
  const absl::Status status =
      TorchScriptModule(architecture.dynamics(), NetworkWeights({}), ValueCodec(large)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(status.message()),
              AllOf(StartsWith("network dynamics has "), EndsWith("has room for 2 GiB")));
}

TEST_F(TorchScript, TheSourceTakesTheInputsByName) {
  EXPECT_THAT(TorchScriptSource(architecture_.dynamics(), ValueCodec(config_)),
              HasSubstr("def forward(self, latent: Tensor, action: Tensor):\n"));
}

}  // namespace
}  // namespace mallocmuzero
