#include "env/legal.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace mallocmuzero {
namespace {

class OptionFinder {
 public:
  explicit OptionFinder(const GameState& state)
      : state_(state),
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

  // True if the access is the first use of a value that a carried group can still take over from
  // outside its loop.
  bool MayTakeOver() const {
    return rule_.take_over != ProgramRules::kNone &&
           state_.residency.group(static_cast<uint32_t>(rule_.take_over)) ==
               Residency::GroupSpace::kOpen;
  }

  // Allows NoCopy if the carried group can take over its initial value.
  void AllowTakeOver() {
    const auto group = static_cast<uint32_t>(rule_.take_over);
    if (!state_.residency.CanTakeOver(group)) return;
    const auto loop = static_cast<int32_t>(program_.carried_groups()[group].loop);
    options_.keep_until = rules_.SpanEnd(static_cast<uint32_t>(now_), loop);
    options_.takes_over = true;
    Allow(Action::kNoCopy);
  }

  void AllowKeeping(int32_t until) {
    options_.keep_until = until;
    Allow(Action::kNoCopy);
  }

  void FindForRead() {
    const Residency& residency = state_.residency;
    if (MayTakeOver()) {
      AllowTakeOver();
    } else if (residency.Holds(buffer_)) {
      AllowKeeping(rules_.SpanEnd(static_cast<uint32_t>(now_), residency.Current(buffer_).loop));
    }
    if (residency.IsCarriedFast(buffer_) || !state_.hbm[buffer_].IsOnItsWay()) return;
    if (rule_.follows_write && residency.Holds(buffer_)) return;
    Allow(Action::kDrop);
    // Copy brings in a value that NoCopy keeps only where NoCopy would keep it for a whole loop.
    const bool keeps_for_this_read = Contains(options_.actions, Action::kNoCopy) &&
                                     !options_.takes_over && options_.keep_until == now_;
    if (!keeps_for_this_read && FindCopyIn()) Allow(Action::kCopy);
  }

  void FindForWrite() {
    Allow(Action::kDrop);
    const bool may_keep = rule_.keep_until != ProgramRules::kNone;
    const bool may_copy = rule_.copy_until != ProgramRules::kNone;
    if (!may_keep && !may_copy) return;
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
      if (FindCopyIn()) Allow(Action::kCopy);
      AllowTakeOver();
      return;
    }
    const bool hbm_has_value = state_.hbm[buffer_].IsOnItsWay();
    if (hbm_has_value) Allow(Action::kDrop);
    const bool resident = residency.Holds(buffer_);
    const bool has_write_back = resident && residency.Current(buffer_).write_back >= 0;
    const int32_t until = has_write_back ? rule_.keep_until_end : rule_.keep_until;
    if (resident && until != ProgramRules::kNone) AllowKeeping(until);
    if ((resident && !has_write_back) || (hbm_has_value && FindCopyIn())) Allow(Action::kCopy);
  }

  // Finds a place for the buffer's value during the instructions [first, until].
  bool FindPlace(int32_t first, int32_t until) {
    std::optional<Place> place = state_.residency.FindPlace(
        {.bytes = rules_.buffer(buffer_).bytes, .first = first, .until = until}, state_.access);
    if (!place) return false;
    options_.place = *std::move(place);
    return true;
  }

  // Tries loops from the outermost one that leaves the value as it is inwards: a copy before an
  // outer loop is made once and serves all passes.
  bool FindCopyIn() {
    const int32_t inner = program_.instructions()[now_].loop;
    int32_t loop = access_.kind == AccessKind::kRead ? rules_.buffer(buffer_).defining_loop : inner;
    while (!FindCopyIn(loop)) {
      if (loop == inner) return false;
      loop = rules_.ChildLoop(inner, loop);
    }
    return true;
  }

  // Finds a copy that is queued in `loop`.
  bool FindCopyIn(int32_t loop) {
    const HbmValue& hbm = state_.hbm[buffer_];
    int32_t earliest = hbm.current_since;
    if (!hbm.is_current()) {
      earliest = state_.timeline.DoneAt(static_cast<uint32_t>(hbm.write_back));
      if (earliest == CopyTimeline::kPending) return false;
    }
    const int32_t inner = program_.instructions()[now_].loop;
    int32_t done = now_;
    if (inner != loop) {
      done = static_cast<int32_t>(program_.loops()[rules_.ChildLoop(inner, loop)].begin);
    }
    if (loop != ProgramRules::kNone) {
      earliest = std::max(earliest, static_cast<int32_t>(program_.loops()[loop].begin) + 1);
    }
    const std::optional<uint32_t> start = state_.timeline.LatestStart(
        static_cast<double>(program_.buffers()[buffer_].bytes), earliest,
        static_cast<uint32_t>(done),
        [this, loop](int32_t point) { return rules_.PointInLoop(point, loop); });
    if (!start) return false;
    const int32_t until = rules_.SpanEnd(static_cast<uint32_t>(now_), loop);
    if (!FindPlace(static_cast<int32_t>(*start), until)) return false;
    options_.copy_in = {static_cast<int32_t>(*start), done, until, loop};
    return true;
  }

  const GameState& state_;
  const ProgramRules& rules_;
  const Program& program_;
  const Access& access_;
  const ProgramRules::AccessRule& rule_;
  const uint32_t buffer_;
  const int32_t now_;
  Options options_;
};

}  // namespace

Options Legal(const GameState& state) { return OptionFinder(state).Find(); }

}  // namespace mallocmuzero
