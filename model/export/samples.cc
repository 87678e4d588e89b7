#include "model/export/samples.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "base/enums.h"
#include "base/random.h"
#include "env/action.h"
#include "env/game.h"
#include "env/observation.h"
#include "model/modules.h"
#include "model/value_codec.h"

namespace mallocmuzero {
namespace {

Action RandomAction(ActionSet legal, Random& random) {
  std::vector<Action> actions;
  for (const Action action : kActions) {
    if (Contains(legal, action)) actions.push_back(action);
  }
  return actions[random.Below(actions.size())];
}

// Plays one game and records its decisions up to `count` in total.
void RecordGame(const PlayedProgram& program, size_t count, Random& random,
                RecordedDecisions& decisions) {
  ObservationWriter writer(program.tables());
  for (Game game(program.rules()); !game.finished() && decisions.actions.size() < count;) {
    decisions.observations.resize(decisions.observations.size() + kObservationSize);
    writer.Write(game, absl::MakeSpan(decisions.observations).last(kObservationSize));
    const Action action = RandomAction(game.legal_actions(), random);
    decisions.actions.push_back(Underlying(action));
    game.Apply(action);
  }
}

}  // namespace

RecordedDecisions RecordDecisions(const ProgramSet& programs, size_t count, uint64_t seed) {
  Random random(seed);
  RecordedDecisions decisions;
  for (size_t p = 0; decisions.actions.size() < count; ++p) {
    // All programs have a part, even if the first one alone has enough decisions.
    const size_t share = (count + programs.size() - 1) / programs.size();
    const size_t until = std::min(count, decisions.actions.size() + share);
    RecordGame(programs[p % programs.size()], until, random, decisions);
  }
  return decisions;
}

std::vector<NamedTensor> EvaluateDecisions(const Network& network,
                                           const RecordedDecisions& decisions) {
  const torch::NoGradGuard no_gradient;
  const auto count = std::ssize(decisions.actions);
  const torch::Tensor observations =
      torch::tensor(decisions.observations).view({count, int64_t{kObservationSize}});
  const torch::Tensor actions = torch::tensor(decisions.actions, torch::kInt64);
  const ValueCodec codec(network.config());
  const InitialOutput initial = network.module()->Initial(observations);
  const RecurrentOutput next = network.module()->Recurrent(initial.latent, actions);
  const std::pair<absl::string_view, torch::Tensor> tensors[] = {
      {kObservation, observations},
      {kAction, actions},
      {kLatent, initial.latent},
      {kPolicyLogits, initial.policy_logits},
      {kValueLogits, initial.value_logits},
      {"value", DecodeLogits(codec, BinCenters(codec, torch::kCPU), initial.value_logits)},
      {kNextLatent, next.latent},
      {kRewardLogits, next.reward_logits},
      {"reward", DecodeLogits(codec, BinCenters(codec, torch::kCPU), next.reward_logits)}};
  std::vector<NamedTensor> named;
  for (const auto& [name, tensor] : tensors) named.push_back(ToNamedTensor(name, tensor).value());
  return named;
}

std::string NumpyFile(const NamedTensor& tensor) {
  using Type = v1::CheckpointHeader::Tensor;
  assert(tensor.type == Type::TYPE_FLOAT32 || tensor.type == Type::TYPE_INT64);
  const char* type = tensor.type == Type::TYPE_INT64 ? "<i8" : "<f4";
  std::string head = absl::StrCat("{'descr': '", type, "', 'fortran_order': False, 'shape': (",
                                  absl::StrJoin(tensor.shape, ", "), ",), }");
  // The data begins at a multiple of 64 bytes, behind a newline.
  constexpr size_t kPreamble = 10;
  head.resize((kPreamble + head.size() + 1 + 63) / 64 * 64 - kPreamble, ' ');
  head.back() = '\n';
  std::string length(2, '\0');
  length[0] = head.size() & 0xff;
  length[1] = head.size() >> 8;
  return absl::StrCat(absl::string_view("\x93NUMPY\x01\x00", 8), length, head, tensor.bytes);
}

}  // namespace mallocmuzero
