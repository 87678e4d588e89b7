#include "model/export/onnx_graph.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/architecture.h"
#include "model/network_config.h"
#include "model/testing/random_network.h"
#include "onnx/onnx.pb.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;

// All sizes differ, and there are several blocks of all kinds.
v1::NetworkConfig OddConfig() {
  v1::NetworkConfig odd = ReferenceNetworkConfig(6, 5, 3);
  odd.set_memory_channels(7);
  odd.set_memory_blocks(2);
  odd.set_access_channels(9);
  odd.set_heads(2);
  odd.set_representation_blocks(2);
  odd.set_dynamics_blocks(2);
  odd.set_head_hidden(11);
  return odd;
}

class OnnxModelTest : public ::testing::Test {
 protected:
  onnx::ModelProto Parse(const Graph& graph) const {
    onnx::ModelProto model;
    EXPECT_TRUE(model.ParseFromString(OnnxModel(graph, weights_, codec_).value()));
    return model;
  }

  const v1::NetworkConfig config_ = OddConfig();
  const Architecture architecture_{config_};
  const std::vector<NamedTensor> tensors_ = testing::MakeRandomNetwork(config_, 1)->ExportWeights();
  const NetworkWeights weights_{tensors_};
  const ValueCodec codec_{config_};
};

std::vector<std::string> Names(
    const google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& values) {
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto& value : values) {
    names.push_back(value.name());
    EXPECT_EQ(value.type().tensor_type().shape().dim(0).dim_param(), "batch");
  }
  return names;
}

TEST_F(OnnxModelTest, NamesInputsAndOutputsAndLeavesTheBatchFree) {
  const onnx::ModelProto dynamics = Parse(architecture_.dynamics());
  EXPECT_THAT(Names(dynamics.graph().input()), ElementsAre("latent", "action"));
  EXPECT_THAT(Names(dynamics.graph().output()),
              ElementsAre("next_latent", "reward_logits", "reward"));
  const onnx::ModelProto prediction = Parse(architecture_.prediction());
  EXPECT_THAT(Names(prediction.graph().output()),
              ElementsAre("policy_logits", "value_logits", "value"));
  EXPECT_THAT(Names(Parse(architecture_.representation()).graph().output()), ElementsAre("latent"));
}

TEST_F(OnnxModelTest, EveryValueIsDefinedOnceAndBeforeItsUse) {
  for (const Graph* graph :
       {&architecture_.representation(), &architecture_.dynamics(), &architecture_.prediction()}) {
    const onnx::ModelProto model = Parse(*graph);
    std::set<std::string> defined;
    for (const auto& input : model.graph().input()) defined.insert(input.name());
    for (const auto& tensor : model.graph().initializer()) {
      EXPECT_TRUE(defined.insert(tensor.name()).second) << tensor.name();
    }
    for (const onnx::NodeProto& node : model.graph().node()) {
      for (const std::string& input : node.input()) EXPECT_TRUE(defined.contains(input)) << input;
      EXPECT_TRUE(defined.insert(node.output(0)).second) << node.output(0);
    }
    for (const auto& output : model.graph().output()) {
      EXPECT_TRUE(defined.contains(output.name())) << output.name();
    }
  }
}

TEST_F(OnnxModelTest, HasTheWeightsOfTheCheckpoint) {
  std::map<std::string, const NamedTensor*> left;
  for (const NamedTensor& tensor : tensors_) left[tensor.name] = &tensor;
  for (const Graph* graph :
       {&architecture_.representation(), &architecture_.dynamics(), &architecture_.prediction()}) {
    const onnx::ModelProto model = Parse(*graph);
    for (const onnx::TensorProto& tensor : model.graph().initializer()) {
      const auto found = left.find(tensor.name());
      if (found == left.end()) continue;
      EXPECT_EQ(tensor.raw_data(), found->second->bytes) << tensor.name();
      EXPECT_EQ(std::vector<int64_t>(tensor.dims().begin(), tensor.dims().end()),
                found->second->shape);
      left.erase(found);
    }
  }
  EXPECT_TRUE(left.empty()) << left.begin()->first << " is in no model";
}

}  // namespace
}  // namespace mallocmuzero
