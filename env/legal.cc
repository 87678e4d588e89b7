#include "env/legal.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace mallocmuzero {
namespace {

class OptionFinder {
 public:
  // Stops as soon as it has found one of the actions that suffice.
  OptionFinder(const GameState& state, ActionSet sufficient, RefusedRequests* refused)
      : state_(state),
        sufficient_(sufficient),
        refused_(refused),
        rules_(*state.rules),
        program_(state.program()),
        access_(program_.accesses()[state.access]),
        rule_(rules_.access(state.access)),
        buffer_(access_.buffer),
        now_(state.instruction) {}

  Options Find() {
    const Residency& residency = state_.residency;
    if (rules_.UsesPrefetch(state_.access) && residency.Holds(buffer_) &&
        residency.Current(buffer_).cross_program_prefetch) {
      options_.keep_until = residency.Current(buffer_).last;
      options_.actions = SetOf(Action::kNoCopy);
    } else if (rules_.buffer(buffer_).stays_in_hbm) {
      options_.actions = SetOf(Action::kDrop);
    } else if (rule_.flight_done != ProgramRules::kNone && !rule_.starts_flight) {
      FollowFlight();
    } else if (access_.kind == AccessKind::kRead) {
      FindForRead();
    } else if (residency.IsCarriedFast(buffer_)) {
      options_.actions = SetOf(Action::kNoCopy);
    } else if (access_.kind == AccessKind::kWrite) {
      FindForWrite();
    } else {
      FindForUpdate();
    }
    return std::move(options_);
  }

 private:
  void Allow(Action action) { options_.actions |= SetOf(action); }

  bool Suffices() const { return (options_.actions & sufficient_) != 0; }

  // True if the access is the first use of a value that a carried group can still take over from
  // outside its loop.
  bool MayTakeOver() const {
    return rule_.take_over != ProgramRules::kNone &&
           state_.residency.group(rule_.take_over) == Residency::GroupSpace::kOpen;
  }

  // Allows NoCopy if the carried group can take over its initial value.
  void AllowTakeOver() {
    const CarriedGroupIndex group = rule_.take_over;
    if (!state_.residency.CanTakeOver(group)) return;
    const auto loop = program_.carried_groups()[group].loop;
    options_.keep_until = rules_.SpanEnd(now_, loop);
    options_.takes_over = true;
    Allow(Action::kNoCopy);
  }

  void AllowKeeping(InstructionIndex until) {
    options_.keep_until = std::max(until, rule_.flight_done);
    Allow(Action::kNoCopy);
  }

  // The memory of an access in a flight is that of the flight's start. A start that uses HBM leaves
  // no stay behind. At the done, an update has the whole value and can write it back.
  void FollowFlight() {
    if (!state_.residency.Holds(buffer_)) {
      Allow(Action::kDrop);
      return;
    }
    const Stay& stay = state_.residency.Current(buffer_);
    if (access_.kind == AccessKind::kRead) {
      AllowKeeping(rules_.SpanEnd(now_, stay.loop));
      return;
    }
    const bool has_write_back = stay.write_back >= 0;
    const InstructionIndex until = has_write_back ? rule_.keep_until_end : rule_.keep_until;
    if (until != ProgramRules::kNone) AllowKeeping(until);
    if (now_ == rule_.flight_done && !has_write_back) Allow(Action::kCopy);
  }

  void FindForRead() {
    const Residency& residency = state_.residency;
    if (MayTakeOver()) {
      AllowTakeOver();
    } else if (residency.Holds(buffer_)) {
      const Stay& stay = residency.Current(buffer_);
      const bool may_keep = stay.write_back >= 0 ? rule_.may_fly_written_back : rule_.may_fly;
      if (may_keep) AllowKeeping(rules_.SpanEnd(now_, stay.loop));
    }
    if (residency.IsCarriedFast(buffer_) || !state_.hbm[buffer_].IsOnItsWay()) return;
    if (rule_.follows_write && residency.Holds(buffer_)) return;
    Allow(Action::kDrop);
    if (Suffices()) return;
    // Copy brings in a value that NoCopy keeps only where NoCopy would keep it for a whole loop.
    const bool keeps_for_this_read = Contains(options_.actions, Action::kNoCopy) &&
                                     !options_.takes_over &&
                                     options_.keep_until == std::max(now_, rule_.flight_done);
    if (!keeps_for_this_read && rule_.may_fly && FindCopyIn()) Allow(Action::kCopy);
  }

  void FindForWrite() {
    Allow(Action::kDrop);
    const bool may_keep = rule_.keep_until != ProgramRules::kNone;
    const bool may_copy = rule_.copy_until != ProgramRules::kNone;
    if (Suffices() || (!may_keep && !may_copy)) return;
    if (!FindPlace(now_, may_keep ? rule_.keep_until : rule_.copy_until)) return;
    if (may_keep) {
      options_.keep_until = rule_.keep_until;
      Allow(Action::kNoCopy);
    }
    if (may_copy) Allow(Action::kCopy);
  }

  void FindForUpdate() {
    const Residency& residency = state_.residency;
    if (MayTakeOver()) {
      Allow(Action::kDrop);
      AllowTakeOver();
      if (!Suffices() && FindCopyIn()) Allow(Action::kCopy);
      return;
    }
    const bool hbm_has_value = state_.hbm[buffer_].IsOnItsWay();
    if (hbm_has_value) Allow(Action::kDrop);
    const bool resident = residency.Holds(buffer_);
    const bool has_write_back = resident && residency.Current(buffer_).write_back >= 0;
    const InstructionIndex until = has_write_back ? rule_.keep_until_end : rule_.keep_until;
    if (resident && until != ProgramRules::kNone) AllowKeeping(until);
    if (Suffices()) return;
    if (rule_.starts_flight) return;  // nothing is copied in flight, so not after this update
    if ((resident && !has_write_back) || (hbm_has_value && FindCopyIn())) Allow(Action::kCopy);
  }

  // Finds a place for the buffer's value during the instructions [first, until].
  bool FindPlace(InstructionIndex first, InstructionIndex until) {
    std::optional<Place> place = state_.residency.FindPlace(
        {.bytes = rules_.buffer(buffer_).bytes, .first = first, .until = until}, state_.access,
        refused_);
    if (!place) return false;
    options_.place = *std::move(place);
    return true;
  }

  // Tries loops from the outermost one that leaves the value as it is inwards: a copy before an
  // outer loop is made once and serves all passes.
  bool FindCopyIn() {
    const LoopIndex inner = program_.instructions()[now_].loop;
    LoopIndex loop =
        access_.kind == AccessKind::kRead ? rules_.buffer(buffer_).defining_loop : inner;
    while (!FindCopyIn(loop)) {
      if (loop == inner) return false;
      loop = rules_.ChildLoop(inner, loop);
    }
    return true;
  }

  // Finds a copy that is queued in `loop`.
  bool FindCopyIn(LoopIndex loop) {
    const HbmValue& hbm = state_.hbm[buffer_];
    InstructionIndex earliest = hbm.current_since;
    if (!hbm.is_current()) {
      earliest = state_.timeline.DoneAt(hbm.write_back);
      if (earliest == CopyTimeline::kPending) return false;
    }
    earliest = std::max(earliest, rule_.copy_from);
    const LoopIndex inner = program_.instructions()[now_].loop;
    InstructionIndex done = now_;
    if (inner != loop) {
      done = program_.loops()[rules_.ChildLoop(inner, loop)].begin;
    }
    if (loop != ProgramRules::kNone) {
      earliest = std::max(earliest, program_.loops()[loop].begin + 1);
    }
    const std::optional<InstructionIndex> start = state_.timeline.LatestStart(
        static_cast<double>(program_.buffers()[buffer_].bytes), earliest, done,
        [this, loop](InstructionIndex point) { return rules_.PointInLoop(point, loop); });
    if (!start) return false;
    const InstructionIndex until = std::max(rules_.SpanEnd(now_, loop), rule_.flight_done);
    if (!FindPlace(*start, until)) return false;
    options_.copy_in = {*start, done, until, loop};
    return true;
  }

  const GameState& state_;
  const ActionSet sufficient_;
  RefusedRequests* const refused_;
  const ProgramRules& rules_;
  const Program& program_;
  const Access& access_;
  const ProgramRules::AccessRule& rule_;
  const BufferIndex buffer_;
  const InstructionIndex now_;
  Options options_;
};

}  // namespace

Options Legal(const GameState& state, RefusedRequests* refused) {
  return OptionFinder(state, 0, refused).Find();
}

Options Legal(const GameState& state, Action intended) {
  return OptionFinder(state, SetOf(intended), nullptr).Find();
}

}  // namespace mallocmuzero
