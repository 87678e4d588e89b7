#include "learner/role/actor_book.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/rounding.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "env/program_rules.h"

namespace mallocmuzero {
namespace {

// Rates are not computed over a shorter time, since delayed reports may arrive together.
constexpr double kLeastRateSeconds = 0.5;

// The status of so many fits into one message, however long their texts are.
constexpr size_t kMostActors = 20'000;
constexpr size_t kMostNameBytes = 256;
constexpr uint32_t kMostEvaluations = 10000;  // an actor's games of one program

// An actor that is silent for longer is forgotten: it has gone or was restarted under another name.
constexpr absl::Duration kForgetAfter = absl::Minutes(5);

// The same while there are as many actors as the learner keeps account of: others may need the
// place.
constexpr absl::Duration kForgetAfterIfFull = absl::Seconds(10);

// The time between two searches for silent actors. A search with every report would take quadratic
// time in the number of actors.
constexpr absl::Duration kForgetEvery = absl::Seconds(10);
constexpr absl::Duration kForgetEveryIfFull = absl::Seconds(1);

// About the number of latest games in the mean return of a program.
constexpr double kMemory = 64;

// The largest return in a report, in absolute value. Larger ones are no returns of games, and their
// means could become infinite.
constexpr double kMostReturn = 1e6;

bool IsReturn(double value) { return std::abs(value) <= kMostReturn; }  // false for NaN

// The sum, or the largest number.
uint64_t SaturatingSum(uint64_t a, uint64_t b) {
  return a > std::numeric_limits<uint64_t>::max() - b ? std::numeric_limits<uint64_t>::max()
                                                      : a + b;
}

absl::Status Wrong(absl::string_view field, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat("report.", field, ": ", expected, " expected"));
}

// Returns 0 if a count falls. A restarted actor has another name, so counts should not fall, but
// the difference of unsigned numbers must never become huge.
double Increase(uint64_t now, uint64_t before) {
  return now > before ? static_cast<double>(now - before) : 0;
}

// The errors of ActorBook::Report, but for the number of actors.
absl::Status CheckReport(const v1::ActorReport& report) {
  if (report.rules_version() != kGameRulesVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("the actor's release has rules ", report.rules_version(),
                     ", the learner's has rules ", kGameRulesVersion, ": use the same release"));
  }
  if (report.actor().empty() || report.actor().size() > kMostNameBytes) {
    return Wrong("actor", "a name of 1 to 256 bytes");
  }
  if (WithoutControls(report.actor()) != report.actor()) {
    return Wrong("actor", "a name without control characters");
  }
  if (report.blocked_on().size() > kMostNameBytes) {
    return Wrong("blocked_on", "256 bytes or less");
  }
  if (report.trouble().size() > kMostNameBytes) return Wrong("trouble", "256 bytes or less");
  for (const v1::ActorReport::Outcome& outcome : report.outcomes()) {
    if (!IsReturn(outcome.mean_return()) || !IsReturn(outcome.best_return())) {
      return Wrong("outcomes", "returns of at most 1e6");
    }
  }
  for (const auto& program : report.candidate_games().programs()) {
    if (!IsReturn(program.mean_return())) return Wrong("candidate_games", "returns of at most 1e6");
    // One report must not outweigh all games of the other actors in a version's score.
    if (program.games() > kMostEvaluations) {
      return Wrong("candidate_games", "10,000 games or fewer");
    }
  }
  return absl::OkStatus();
}

// The report without its lists and without control characters. Its number of outcomes is the
// highest so far.
v1::ActorReport StoredReport(const v1::ActorReport& report, uint64_t known_outcomes) {
  v1::ActorReport stored = report;
  stored.set_outcomes_number(std::max(report.outcomes_number(), known_outcomes));
  stored.set_blocked_on(WithoutControls(report.blocked_on()));
  stored.set_trouble(WithoutControls(report.trouble()));
  stored.clear_outcomes();
  stored.clear_candidate_games();
  stored.clear_known_games();
  stored.clear_demonstrated();
  stored.DiscardUnknownFields();
  return stored;
}

}  // namespace

ActorBook::ActorBook(const std::vector<std::string>& programs) : programs_(programs.size()) {
  for (size_t p = 0; p < programs.size(); ++p) program_of_[programs[p]] = p;
}

absl::Status ActorBook::Report(const v1::ActorReport& report, absl::Time now) {
  MMZ_RETURN_IF_ERROR(CheckReport(report));
  const absl::MutexLock lock(&mutex_);
  if (now >= next_forgetting_) Forget(now);
  const auto [entry, is_new] = actors_.try_emplace(report.actor());
  Actor& actor = entry->second;
  if (is_new) {
    if (actors_.size() > kMostActors) {
      actors_.erase(entry);
      return absl::ResourceExhaustedError("more actors than this learner keeps account of");
    }
    actor.first = now;
  }
  // The counts of an actor's first report do not count: it may have reported them to an earlier
  // process of this learner.
  const v1::ActorReport& before = is_new ? report : actor.report;
  const double games = Increase(report.games(), before.games());
  const double decisions = Increase(report.decisions(), before.decisions());
  const double simulations = Increase(report.simulations(), before.simulations());
  if (!report.reanalyse()) {
    totals_.games += games;
    totals_.decisions += decisions;
  }
  totals_.simulations += simulations;
  const double seconds = is_new ? 0 : absl::ToDoubleSeconds(now - actor.last);
  if (seconds >= kLeastRateSeconds) {
    actor.games_per_second = games / seconds;
    actor.decisions_per_second = decisions / seconds;
    actor.simulations_per_second = simulations / seconds;
  }
  // The outcomes come again if the answer to the report before was lost.
  const uint64_t known_outcomes = is_new ? 0 : before.outcomes_number();
  const bool counted = report.outcomes_number() > 0 && report.outcomes_number() <= known_outcomes;
  if (!counted) AddOutcomes(report);
  actor.last = now;
  actor.report = StoredReport(report, known_outcomes);
  if (report.leaving()) actors_.erase(entry);
  return absl::OkStatus();
}

void ActorBook::AddOutcomes(const v1::ActorReport& report) {
  for (const v1::ActorReport::Outcome& outcome : report.outcomes()) {
    const auto found = program_of_.find(outcome.program_sha256());
    // The program may belong to an earlier assignment.
    if (found == program_of_.end() || outcome.games() == 0) continue;
    Program& program = programs_[found->second];
    program.best_return = program.games == 0 ? outcome.best_return()
                                             : std::max(program.best_return, outcome.best_return());
    program.games = SaturatingSum(program.games, outcome.games());
    const double seen = std::min(static_cast<double>(program.games), kMemory);
    const double rate = std::min(1.0, static_cast<double>(outcome.games()) / seen);
    program.mean_return += rate * (outcome.mean_return() - program.mean_return);
  }
}

void ActorBook::Forget(absl::Time now) {
  const bool is_full = actors_.size() >= kMostActors;
  const absl::Duration silent = is_full ? kForgetAfterIfFull : kForgetAfter;
  next_forgetting_ = now + (is_full ? kForgetEveryIfFull : kForgetEvery);
  absl::erase_if(actors_, [&](const std::pair<const std::string, Actor>& entry) {
    return now - entry.second.last > silent;
  });
}

size_t ActorBook::StoredBytes() const {
  const absl::MutexLock lock(&mutex_);
  size_t bytes = 0;
  for (const auto& [name, actor] : actors_) bytes += actor.report.ByteSizeLong();
  return bytes;
}

std::vector<std::optional<HbmShare>> ActorBook::Returns(double Program::*which) const {
  const absl::MutexLock lock(&mutex_);
  std::vector<std::optional<HbmShare>> returns(programs_.size());
  for (size_t p = 0; p < programs_.size(); ++p) {
    if (programs_[p].games > 0) returns[p] = HbmShare(programs_[p].*which);
  }
  return returns;
}

std::vector<std::optional<HbmShare>> ActorBook::MeanReturns() const {
  return Returns(&Program::mean_return);
}

std::vector<std::optional<HbmShare>> ActorBook::BestReturns() const {
  return Returns(&Program::best_return);
}

std::vector<v1::RoleStatus> ActorBook::Describe(uint64_t newest_step, absl::Time now) const {
  const absl::MutexLock lock(&mutex_);
  std::vector<v1::RoleStatus> all;
  for (const auto& [name, actor] : actors_) {
    if (now - actor.last > kForgetAfter) continue;
    v1::RoleStatus& status = all.emplace_back();
    status.set_role(actor.report.reanalyse() ? v1::RoleStatus::REANALYSE : v1::RoleStatus::ACTOR);
    status.set_name(name);
    status.set_uptime_seconds(absl::ToDoubleSeconds(actor.last - actor.first));
    status.set_rss_bytes(actor.report.rss_bytes());
    status.set_blocked_on(actor.report.blocked_on());
    status.set_flow_control(actor.report.flow_control());
    status.set_trouble(actor.report.trouble());
    status.set_silent_seconds(absl::ToDoubleSeconds(now - actor.last));
    auto& figures = *status.mutable_figures();
    figures["games"] = static_cast<double>(actor.report.games());
    figures["games_per_second"] = actor.games_per_second;
    figures["decisions_per_second"] = actor.decisions_per_second;
    figures["simulations_per_second"] = actor.simulations_per_second;
    figures["network_step"] = static_cast<double>(actor.report.network_step());
    figures["policy_lag"] = Increase(newest_step, actor.report.network_step());
    figures["spooled_bytes"] = static_cast<double>(actor.report.spooled_bytes());
  }
  std::sort(all.begin(), all.end(),
            [](const v1::RoleStatus& a, const v1::RoleStatus& b) { return a.name() < b.name(); });
  return all;
}

ActorTotals ActorBook::Totals(uint64_t newest_step, absl::Time now) const {
  const absl::MutexLock lock(&mutex_);
  ActorTotals totals = totals_;
  for (const auto& [name, actor] : actors_) {
    if (now - actor.last > kForgetAfter) continue;
    ++totals.actors;
    totals.reanalysers += actor.report.reanalyse() ? 1 : 0;
    totals.blocked += actor.report.blocked_on().empty() ? 0 : 1;
    totals.spooled_bytes += static_cast<double>(actor.report.spooled_bytes());
    const uint64_t lag = RoundToZero(Increase(newest_step, actor.report.network_step()));
    totals.largest_lag = std::max(totals.largest_lag, lag);
  }
  return totals;
}

}  // namespace mallocmuzero
