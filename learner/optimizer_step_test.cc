#include "learner/optimizer_step.h"

#include <torch/nn/modules/linear.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "learner/optimizer_state.h"

namespace mallocmuzero {
namespace {

using torch::optim::AdamW;
using torch::optim::AdamWOptions;

// Two layers, of which the second one gets its first gradient later.
class OptimizerStep : public ::testing::Test {
 protected:
  struct Model {
    torch::nn::Linear first{nullptr};
    torch::nn::Linear second{nullptr};
    std::unique_ptr<AdamW> optimizer;

    std::vector<torch::Tensor> Parameters() const {
      return {first->weight, first->bias, second->weight, second->bias};
    }
  };

  static Model MakeModel() {
    torch::manual_seed(1);
    Model model;
    model.first = torch::nn::Linear(7, 5);
    model.second = torch::nn::Linear(5, 3);
    model.optimizer =
        std::make_unique<AdamW>(model.Parameters(), AdamWOptions(0.01).weight_decay(0.1));
    return model;
  }

  // Sets the gradients of the first `count` parameters.
  static void SetGradients(const Model& model, size_t count, double scale) {
    torch::manual_seed(static_cast<uint64_t>(count) + 2);
    const std::vector<torch::Tensor> parameters = model.Parameters();
    for (size_t k = 0; k < parameters.size(); ++k) {
      torch::Tensor parameter = parameters[k];
      parameter.mutable_grad() =
          k < count ? scale * torch::randn(parameter.sizes()) : torch::Tensor();
    }
  }

  static double GradientNorm(const Model& model) {
    double squares = 0;
    for (const torch::Tensor& parameter : model.Parameters()) {
      squares += parameter.grad().square().sum().item<double>();
    }
    return std::sqrt(squares);
  }

  static double WorstDifference(const Model& a, const Model& b) {
    double worst = 0;
    for (size_t k = 0; k < a.Parameters().size(); ++k) {
      const torch::Tensor difference = a.Parameters()[k].detach() - b.Parameters()[k].detach();
      worst = std::max(worst, difference.abs().max().item<double>());
    }
    return worst;
  }
};

TEST_F(OptimizerStep, OfAllParametersTogetherIsThatOfEach) {
  if (!HasJointStep()) GTEST_SKIP() << "this LibTorch has no joint step";
  const Model joint = MakeModel();
  const Model each = MakeModel();
  ASSERT_EQ(WorstDifference(joint, each), 0);
  for (int update = 0; update < 6; ++update) {
    const size_t count = update < 3 ? 2 : 4;
    // Gradients whose norm is below and above the largest one.
    const double scale = update % 2 == 0 ? 0.01 : 10;
    SetGradients(joint, count, scale);
    SetGradients(each, count, scale);
    const double norm = ClipAndStep(*each.optimizer, 1);
    EXPECT_NEAR(ClipAndStepJointly(*joint.optimizer, 1), norm, 1e-5 * norm);
    EXPECT_LT(WorstDifference(joint, each), 1e-6) << update;
  }
  EXPECT_GT(WorstDifference(joint, MakeModel()), 1e-3);
}

TEST_F(OptimizerStep, ShortensGradientsToTheLargestNorm) {
  for (const auto step : {ClipAndStep, ClipAndStepJointly}) {
    for (const double scale : {0.01, 10.0}) {
      const Model model = MakeModel();
      SetGradients(model, 4, scale);
      const double norm = GradientNorm(model);
      ASSERT_EQ(norm > 1, scale == 10);
      EXPECT_NEAR(step(*model.optimizer, 1), norm, 1e-5 * norm);
      EXPECT_NEAR(GradientNorm(model), std::min(norm, 1.0), 1e-5);
    }
  }
}

TEST_F(OptimizerStep, ChangesNothingAfterAGradientThatIsNotFinite) {
  using Limits = std::numeric_limits<float>;
  for (const float wrong : {Limits::infinity(), Limits::quiet_NaN()}) {
    for (const auto step : {ClipAndStep, ClipAndStepJointly}) {
      const Model model = MakeModel();
      SetGradients(model, 4, 1);
      model.second->bias.mutable_grad()[1] = wrong;
      EXPECT_FALSE(std::isfinite(step(*model.optimizer, 1)));
      EXPECT_EQ(WorstDifference(model, MakeModel()), 0);
      EXPECT_TRUE(model.optimizer->state().empty());
    }
  }
}

}  // namespace
}  // namespace mallocmuzero
