#include "model/export/manifest.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/enums.h"
#include "build_info.h"
#include "env/observation_layout.h"
#include "model/architecture.h"
#include "model/learned_baseline.h"
#include "model/value_codec.h"

namespace mallocmuzero {
namespace {

using Manifest = v1::ExportManifest;

constexpr char kFormula[] =
    "p = softmax(logits); z = sum(p * centers); number = sign(z) * resolution * (exp(|z|) - 1)";

// Inputs, outputs and numbers of all networks.
struct Meaning {
  absl::string_view name;
  const char* text;
};

constexpr Meaning kMeanings[] = {
    {kObservation, "the observation of a decision; see the field observation"},
    {kAction, "the number of the action that is taken; see the field actions"},
    {kLatent, "a latent state: mean 0, variance 1 over its floats"},
    {kNextLatent, "the latent state behind the action: mean 0, variance 1 over its floats"},
    {kPolicyLogits,
     "the policy: logits of the actions, neither normalised nor masked; mask illegal actions"},
    {kValueLogits, "the value: logits of a distribution over the bins; see the field decoding"},
    {kRewardLogits,
     "the reward of the action: logits of a distribution over the bins; see the field decoding"},
    {"value", "the value, decoded; see the field units"},
    {"reward", "the reward of the action, decoded; see the field units"},
};

std::string MeaningOf(absl::string_view name) {
  for (const Meaning& meaning : kMeanings) {
    if (meaning.name == name) return meaning.text;
  }
  return "";
}

void AddTensor(const std::string& name, const char* dtype, const std::vector<int64_t>& shape,
               Manifest::Tensor& tensor) {
  tensor.set_name(name);
  tensor.set_dtype(dtype);
  tensor.add_shape(-1);
  for (const int64_t size : shape) tensor.add_shape(size);
  tensor.set_meaning(MeaningOf(name));
}

bool IsRanked(const v1::ReturnBaselineState& baseline) {
  return baseline.has_return_to_beat() || baseline.returns_size() > 0;
}

v1::TrainState StateOf(const Checkpoint& checkpoint) {
  v1::TrainState state;
  if (!state.ParseFromString(checkpoint.training_state)) state.Clear();
  return state;
}

void DescribeUnits(const v1::TrainState& state, Manifest::Units& units) {
  if (state.programs().empty()) {
    units.set_kind(Manifest::Units::UNKNOWN);
    units.set_meaning(
        "The checkpoint has no baselines. Values compare positions of one game; they cannot be "
        "converted into cycles.");
  } else if (IsRanked(state.programs(0).baseline())) {
    units.set_kind(Manifest::Units::RANKED);
    units.set_meaning(
        "1: the game ends with a higher return than return_to_beat of its program; -1: with a "
        "lower one. Rewards are 0 up to the last decision.");
  } else {
    units.set_kind(Manifest::Units::RELATIVE);
    units.set_meaning(
        "Return to go, as a share of the all-HBM cycles = mean[a] + scale * value at a decision at "
        "the access a. Return of an action = scale * reward + mean[a] - mean[b] if the next "
        "decision is at the access b; b is the number of accesses at the end of the game.");
  }
}

void DescribeActions(Manifest& manifest) {
  const auto add = [&](const char* name, const char* meaning) {
    Manifest::Action& action = *manifest.add_actions();
    action.set_name(name);
    action.set_meaning(meaning);
  };
  add("Copy", "copy the value into fast memory; a written value is also written back to HBM");
  add("NoCopy", "use or write the value in fast memory only");
  add("Drop", "access HBM");
  for (const Action action : {Action::kNoCopy, Action::kCopy, Action::kDrop}) {
    manifest.add_action_order(Underlying(action));
  }
}

}  // namespace

Manifest DescribeCheckpoint(const Checkpoint& checkpoint) {
  Manifest manifest;
  const v1::TrainState state = StateOf(checkpoint);
  manifest.set_licence("Apache-2.0");
  manifest.set_software_version(kVersion);
  manifest.set_software_commit(kGitCommit);
  manifest.mutable_checkpoint()->set_git_commit(checkpoint.git_commit);
  manifest.mutable_checkpoint()->set_step(checkpoint.step);
  manifest.mutable_checkpoint()->set_rules_version(state.rules_version());
  *manifest.mutable_network_config() = checkpoint.network;
  *manifest.mutable_observation() = MakeObservationSpec();
  DescribeActions(manifest);
  const ValueCodec codec(checkpoint.network);
  manifest.mutable_decoding()->set_formula(kFormula);
  manifest.mutable_decoding()->set_resolution(codec.resolution());
  for (const float center : codec.centers()) manifest.mutable_decoding()->add_centers(center);
  DescribeUnits(state, *manifest.mutable_units());
  return manifest;
}

Manifest::Network DescribeNetwork(const Graph& graph) {
  Manifest::Network network;
  network.set_name(std::string(absl::StripSuffix(graph.name(), ".")));
  for (const Graph::Value input : graph.inputs()) {
    const Graph::Node& node = graph.nodes()[input];
    const bool is_action = node.operation == Graph::Operation::kActionInput;
    AddTensor(node.name, is_action ? "int64" : "float32", node.shape, *network.add_inputs());
  }
  for (const Graph::Output& output : graph.outputs()) {
    AddTensor(output.name, "float32", graph.ShapeOf(output.value), *network.add_outputs());
    if (!output.number.empty()) AddTensor(output.number, "float32", {}, *network.add_outputs());
  }
  return network;
}

v1::ExportBaselines DescribeBaselines(const Checkpoint& checkpoint) {
  v1::ExportBaselines baselines;
  const v1::TrainState state = StateOf(checkpoint);
  for (const v1::TrainState::Program& entry : state.programs()) {
    v1::ExportBaselines::Program& program = *baselines.add_programs();
    program.set_sha256(absl::BytesToHexString(entry.sha256()));
    const v1::ReturnBaselineState& baseline = LearnedBaseline(entry);
    *program.mutable_mean() = baseline.frozen();
    program.set_scale(baseline.scale());
    if (baseline.has_return_to_beat()) program.set_return_to_beat(baseline.return_to_beat());
  }
  return baselines;
}

}  // namespace mallocmuzero
