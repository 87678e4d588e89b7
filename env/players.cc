#include "env/players.h"

#include <algorithm>
#include <initializer_list>

namespace mallocmuzero {
namespace {

Action FirstLegal(ActionSet legal, std::initializer_list<Action> wishes) {
  return *std::find_if(wishes.begin(), wishes.end(),
                       [legal](Action action) { return Contains(legal, action); });
}

// True if the buffer of the current access was not used for a while.
bool LayIdle(const Game& game) {
  constexpr uint32_t kWhile = 8;  // instructions
  const Program& program = game.program();
  const Access& access = program.accesses()[game.access()];
  const auto accesses = program.AccessesOfBuffer(access.buffer);
  const auto own = std::lower_bound(accesses.begin(), accesses.end(), game.access());
  return own == accesses.begin() ||
         program.accesses()[*(own - 1)].instruction + kWhile <= access.instruction;
}

}  // namespace

absl::string_view PlayerName(PlayerKind kind) {
  switch (kind) {
    case PlayerKind::kRandom:
      return "random";
    case PlayerKind::kEager:
      return "eager";
    case PlayerKind::kAdversarial:
      break;
  }
  return "adversarial";
}

void Player::StartGame() {
  manner_ = static_cast<Manner>(games_++ % kManners);
  turn_ = 0;
  taken_ = {0, 0, 0};
}

Action Player::Choose(const Game& game) {
  switch (kind_) {
    case PlayerKind::kRandom:
      return Any(game.legal_actions());
    case PlayerKind::kEager:
      return EagerAction(game.legal_actions());
    case PlayerKind::kAdversarial:
      break;
  }
  // A random action now and then leads a manner to other states of the game.
  const Action action = random_() % 16 == 0 ? Any(game.legal_actions()) : Adversarial(game);
  ++turn_;
  ++taken_[action];
  return action;
}

Action Player::Adversarial(const Game& game) {
  using enum Action;
  const ActionSet legal = game.legal_actions();
  const bool is_read = game.program().accesses()[game.access()].kind == AccessKind::kRead;
  switch (manner_) {
    case Manner::kFlood:
      return FirstLegal(legal, {kCopy, kNoCopy, kDrop});
    case Manner::kRefetch:
      return FirstLegal(legal, {kCopy, kDrop, kNoCopy});
    case Manner::kForget:
      return is_read ? FirstLegal(legal, {kDrop, kCopy, kNoCopy})
                     : FirstLegal(legal, {kNoCopy, kDrop, kCopy});
    case Manner::kLateKeep:
      return LayIdle(game) ? FirstLegal(legal, {kNoCopy, kCopy, kDrop})
                           : FirstLegal(legal, {kDrop, kCopy, kNoCopy});
    case Manner::kRarest: {
      const auto count = [this](Action action) { return taken_[action]; };
      Action rarest = EagerAction(legal);
      for (const Action action : kActions) {
        if (Contains(legal, action) && count(action) < count(rarest)) rarest = action;
      }
      return rarest;
    }
    case Manner::kAlternate:
      break;
  }
  const Action turn = kActions[turn_ % kActionCount];
  return Contains(legal, turn) ? turn : FirstLegal(legal, {kDrop, kCopy, kNoCopy});
}

Action Player::Any(ActionSet legal) {
  uint64_t rest = random_() % CountOf(legal);
  for (const Action action : kActions) {
    if (Contains(legal, action) && rest-- == 0) return action;
  }
  return Action::kDrop;
}

}  // namespace mallocmuzero
