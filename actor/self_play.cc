#include "actor/self_play.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "actor/exploration.h"
#include "actor/game_recorder.h"
#include "actor/search/stopwatch.h"
#include "base/enums.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "env/action.h"
#include "env/game.h"
#include "env/observation.h"
#include "env/recorded_incumbent.h"
#include "model/on_device.h"

namespace mallocmuzero {
namespace {

// Games wait at a decision that is to be searched until this share of the seats waits, or all games
// that are left. A search for a few games costs nearly as much as one for many.
constexpr double kSearchedShare = 0.75;

// The order of actions for a policy without a preference, which a fresh one never has: the first
// legal action is taken.
using ActionOrder = std::array<Action, kActionCount>;

// The order of the greedy player, and the order that also copies everything in HBM. Which of them
// plays the better game depends on the program; a policy learns from the best game that it has
// seen.
constexpr ActionOrder kKeepFirst = {Action::kNoCopy, Action::kCopy, Action::kDrop};
constexpr ActionOrder kCopyFirst = {Action::kCopy, Action::kNoCopy, Action::kDrop};

// The legal action with the highest logit; with noise, an action drawn from the policy
// (Gumbel-max).
Action ChooseByPolicy(absl::Span<const float> logits, ActionSet legal, const ActionOrder& order,
                      Random* noise) {
  std::optional<Action> best;
  double most = 0;
  for (const Action action : order) {
    if (!Contains(legal, action)) continue;
    double score = logits[Underlying(action)];
    if (noise != nullptr) score -= std::log(-std::log(noise->Unit() + 1e-300));
    if (!best.has_value() || score > most) {
      best = action;
      most = score;
    }
  }
  return best.value_or(Action::kDrop);
}

// The value of the position if the policy is followed.
NetworkValue ValueOf(const SearchResult& result) {
  float value = 0;
  for (size_t a = 0; a < result.policy.size(); ++a) value += result.policy[a] * result.q_values[a];
  return NetworkValue(value);
}

absl::Status CheckModel(const LatentModel& model, uint32_t slots) {
  if (model.actions() != kActionCount) {
    return absl::InvalidArgumentError(absl::StrCat("self-play: a network of ", model.actions(),
                                                   " actions, must be ", kActionCount));
  }
  if (model.observation_size() != kObservationSize) {
    return absl::InvalidArgumentError(absl::StrCat("self-play: a network for observations of ",
                                                   model.observation_size(), " floats, must be ",
                                                   kObservationSize));
  }
  if (model.slots() < slots) {
    return absl::InvalidArgumentError(absl::StrCat("self-play: a network with ", model.slots(),
                                                   " latent states, must be ", slots, " or more"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SearchConfig> MakeSearchConfig(const v1::SearchOptions& options) {
  if (!v1::SearchOptions::Kind_IsValid(options.kind())) {
    return absl::InvalidArgumentError(
        absl::StrCat("search: kind is ", options.kind(), ", not GUMBEL or PUCT"));
  }
  SearchConfig config;
  config.kind = options.kind() == v1::SearchOptions::PUCT ? SearchConfig::Kind::kPuct
                                                          : SearchConfig::Kind::kGumbel;
  config.simulations = std::max<uint32_t>(1, options.simulations());
  config.max_considered_actions = options.max_considered_actions();
  config.maxvisit_init = options.maxvisit_init();
  config.value_scale = options.value_scale();
  config.value_floor = options.value_floor();
  // With the least number of games, one: SelfPlay::Create knows how many there are.
  MMZ_RETURN_IF_ERROR(CheckSearch(config, 1, kActionCount));
  return config;
}

void SelfPlayStats::Add(const SelfPlayStats& other) {
  games += other.games;
  decisions += other.decisions;
  searches += other.searches;
  simulations += other.simulations;
  batches.Add(other.batches);
  game_seconds += other.game_seconds;
  network_seconds += other.network_seconds;
  tree_seconds += other.tree_seconds;
}

struct SelfPlay::Seat {
  Seat(const GameTask& game_task, size_t index, uint64_t network_step)
      : task(&game_task),
        task_index(index),
        game(game_task.program->rules()),
        writer(game_task.program->tables()),
        random(game_task.seed),
        exploration(game_task.program->program(), game_task.explored, game_task.explored_until,
                    random.Next()),
        order(game_task.explored > 0 && random.Below(2) == 0 ? kCopyFirst : kKeepFirst),
        recorder(*game_task.program, game_task.id,
                 game_task.again == nullptr ? v1::Trajectory::SELF_PLAY : game_task.again->source(),
                 network_step) {
    recorder.Start(game);
    if (task->decides_window) recorder.StartWindow();
    if (task->again != nullptr) {
      recorded.emplace(*task->again, game.program().access_count());
      if (task->again->has_window()) recorder.SetWindow(task->again->window());
    }
    if (task->incumbent != nullptr && task->shows_incumbent) {
      const AccessIndex end = task->program->rules().end_access();
      shown = {.in_fast_memory = task->incumbent->in_fast_memory,
               .window_end = task->decides_window ? std::min(exploration.StretchEnd(), end) : end};
    }
  }

  // What the observation of the next decision shows of the incumbent; null if it shows none.
  const ShownIncumbent* Shown() {
    if (recorded.has_value()) return recorded->At(game.history().size());
    if (!shown.has_value()) return nullptr;
    shown->lead =
        static_cast<float>(game.total_return() - task->incumbent->returns_before[game.access()]);
    return &*shown;
  }

  void Apply(Action action, absl::Span<const float> policy = {},
             std::optional<NetworkValue> value = std::nullopt) {
    if (const ShownIncumbent* incumbent = Shown()) recorder.NoteIncumbent(*incumbent);
    recorder.Apply(game, action, policy, value);
  }

  const GameTask* task;
  size_t task_index;
  Game game;
  ObservationWriter writer;
  Random random;
  Exploration exploration;
  const ActionOrder& order;
  GameRecorder recorder;
  std::optional<RecordedIncumbent> recorded;  // of `again`
  std::optional<ShownIncumbent> shown;        // of the task's incumbent

  // The plan for the next decision.
  std::array<float, kActionCount> logits = {};
  ExplorationKind exploring = ExplorationKind::kNone;
  bool searched = false;
};

absl::StatusOr<std::unique_ptr<SelfPlay>> SelfPlay::Create(const SearchConfig& config,
                                                           uint32_t games,
                                                           const ModelMaker& make_model) {
  MMZ_RETURN_IF_ERROR(CheckSearch(config, games, kActionCount));
  const uint32_t slots = games * (config.simulations + 1);  // in range by CheckSearch
  try {
    absl::StatusOr<std::unique_ptr<LatentModel>> model = make_model(slots);
    if (!model.ok()) return model.status();
    MMZ_RETURN_IF_ERROR(CheckModel(**model, slots));
    return absl::WrapUnique(new SelfPlay(config, games, *std::move(model)));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat("search: no memory for the trees of ", games,
                                                     " games with ", config.simulations,
                                                     " simulations each"));
  }
}

SelfPlay::SelfPlay(const SearchConfig& config, uint32_t games, std::unique_ptr<LatentModel> model)
    : search_(config, games, kActionCount),
      model_(std::move(model)),
      batched_(search_, *model_),
      seats_(games),
      observations_(size_t{games} * kObservationSize) {}

SelfPlay::~SelfPlay() = default;

absl::StatusOr<std::vector<v1::Trajectory>> SelfPlay::Play(absl::Span<const GameTask> tasks,
                                                           uint64_t network_step,
                                                           const std::function<bool()>& stop) {
  std::vector<v1::Trajectory> played(tasks.size());
  absl::Status status = OnDevice(absl::StrCat("a batch of ", seats_.size(), " games"), [&] {
    PlayAll(tasks, network_step, stop, absl::MakeSpan(played));
  });
  for (std::unique_ptr<Seat>& seat : seats_) seat = nullptr;
  if (!status.ok()) return status;
  std::erase_if(played, [](const v1::Trajectory& game) { return game.id().empty(); });
  return played;
}

void SelfPlay::PlayAll(absl::Span<const GameTask> tasks, uint64_t network_step,
                       const std::function<bool()>& stop, absl::Span<v1::Trajectory> played) {
  std::vector<uint32_t> deciding;
  std::vector<uint32_t> ready;
  std::vector<uint32_t> searching;  // includes seats that wait for the search
  size_t next = 0;
  const auto decide = [&](absl::Span<const uint32_t> seats) {
    const Stopwatch watch(stats_.game_seconds);
    for (const uint32_t s : seats) Decide(s, played);
  };
  for (;;) {
    deciding.clear();
    ready.clear();
    for (uint32_t s = 0; s < seats_.size(); ++s) {
      if (seats_[s] == nullptr && next < tasks.size()) {
        seats_[s] = std::make_unique<Seat>(tasks[next], next, network_step);
        ++next;
      }
      if (seats_[s] == nullptr || seats_[s]->searched) continue;
      if (FollowIncumbent(s, played)) deciding.push_back(s);
    }
    if ((deciding.empty() && searching.empty() && next == tasks.size()) || (stop && stop())) break;
    const Evaluations roots = EvaluateRoots(deciding);
    for (size_t row = 0; row < deciding.size(); ++row) {
      PlanDecision(deciding[row], row, roots);
      (seats_[deciding[row]]->searched ? searching : ready).push_back(deciding[row]);
    }
    decide(ready);
    if (!ready.empty() && searching.size() < kSearchedShare * seats_.size()) continue;
    while (batched_.Step(searching)) {
    }
    stats_.searches += searching.size();
    decide(searching);
    searching.clear();
  }
}

SelfPlayStats SelfPlay::TakeStats() {
  const BatchedSearchStats& searched = batched_.stats();
  SelfPlayStats stats = std::exchange(stats_, {});
  stats.simulations = searched.step_batches.rows();
  stats.batches.Add(searched.root_batches);
  stats.batches.Add(searched.step_batches);
  stats.network_seconds = searched.root_seconds + searched.step_seconds;
  stats.tree_seconds = searched.tree_seconds;
  batched_.ResetStats();
  return stats;
}

bool SelfPlay::FollowIncumbent(uint32_t s, absl::Span<v1::Trajectory> played) {
  Seat& seat = *seats_[s];
  if (!seat.task->decides_window) return true;
  const Stopwatch watch(stats_.game_seconds);
  while (!seat.game.finished()) {
    const AccessIndex access = seat.game.access();
    if (seat.exploration.InStretch(access)) {
      seat.recorder.NoteOwnDecision();
      return true;
    }
    const ActionSet legal = seat.game.legal_actions();
    const Action action = seat.exploration.Next(access) == ExplorationKind::kAction
                              ? seat.exploration.Act(access, legal)
                              : Choose(seat.task->incumbent->plan[access], legal);
    seat.Apply(action);
    ++stats_.decisions;
  }
  FinishGame(s, played);
  return false;
}

Evaluations SelfPlay::EvaluateRoots(absl::Span<const uint32_t> seats) {
  const absl::Span<float> observations =
      absl::MakeSpan(observations_).first(seats.size() * kObservationSize);
  {
    const Stopwatch watch(stats_.game_seconds);
    for (size_t row = 0; row < seats.size(); ++row) {
      Seat& seat = *seats_[seats[row]];
      seat.writer.Write(seat.game, observations.subspan(row * kObservationSize, kObservationSize),
                        seat.Shown());
    }
  }
  return batched_.EvaluateRoots(seats, observations);
}

void SelfPlay::PlanDecision(uint32_t s, size_t row, const Evaluations& roots) {
  Seat& seat = *seats_[s];
  const absl::Span<const float> logits = roots.logits.subspan(row * kActionCount, kActionCount);
  std::copy(logits.begin(), logits.end(), seat.logits.begin());
  // Both are drawn even if they are not needed, so that one choice does not change the next.
  const double search = seat.random.Unit();
  const uint64_t seed = seat.random.Next();
  seat.exploring = seat.exploration.Next(seat.game.access());
  const bool explored = seat.exploring != ExplorationKind::kNone;
  seat.searched = seat.task->searched > 0 && (explored || search < seat.task->searched);
  if (!seat.searched) return;
  batched_.Begin(
      row,
      {.legal = seat.game.legal_actions(), .gumbel_scale = explored ? 1.0F : 0.0F, .seed = seed});
}

void SelfPlay::Decide(uint32_t s, absl::Span<v1::Trajectory> played) {
  Seat& seat = *seats_[s];
  ++stats_.decisions;
  Action action;
  absl::Span<const float> policy;
  std::optional<NetworkValue> value;
  if (seat.searched) {
    const SearchResult result = search_.Result(s);
    action = static_cast<Action>(result.action);
    policy = result.policy;
    value = ValueOf(result);
  } else {
    action = ChooseByPolicy(seat.logits, seat.game.legal_actions(), seat.order,
                            seat.exploring == ExplorationKind::kNone ? nullptr : &seat.random);
  }
  if (seat.exploring == ExplorationKind::kAction) {
    action = seat.exploration.Act(seat.game.access(), seat.game.legal_actions());
  }
  if (seat.task->again != nullptr) {
    action = static_cast<Action>(seat.task->again->actions()[seat.game.history().size()]);
  }
  seat.Apply(action, policy, value);
  seat.searched = false;
  if (seat.game.finished()) FinishGame(s, played);
}

void SelfPlay::FinishGame(uint32_t s, absl::Span<v1::Trajectory> played) {
  ++stats_.games;
  played[seats_[s]->task_index] = std::move(seats_[s]->recorder).Finish();
  seats_[s] = nullptr;
}

}  // namespace mallocmuzero
