// libFuzzer target: whatever actors report, the learner's books stay within their bounds, and a
// report that is refused gets an error of one line and changes nothing.
//
// ActorReports in text format, with lines "---" or "--- SECONDS" between them: the time from one
// report to the next. The SHA-256 "p" and "q" stand for those of the programs, "candidate" for that
// of the weights to be evaluated, and the version 1 of the rules for the learner's.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "env/program_rules.h"
#include "env/program_set.h"
#include "google/protobuf/stubs/logging.h"
#include "google/protobuf/text_format.h"
#include "learner/curriculum.h"
#include "learner/role/actor_book.h"
#include "learner/role/game_book.h"
#include "learner/role/scored_versions.h"
#include "mallocmuzero/v1/learner.pb.h"
#include "mallocmuzero/v1/status.pb.h"
#include "replay/return_units.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/tiny_programs.h"

namespace mallocmuzero {
namespace {

constexpr uint64_t kNewestStep = 1000;
constexpr uint64_t kLeastGames = 8;
constexpr double kMostReturn = 1e6;  // of a report
constexpr size_t kMostReportBytes = 1024;

// Its greedy games take long, and it keeps little of reports, so that all inputs share it.
GameBook& Games() {
  static GameBook& games = *Must(GameBook::Create(TinyPrograms(), /*follows=*/false)).release();
  return games;
}

// The learner's books, as its role uses them.
class Books {
 public:
  explicit Books(const std::vector<std::string>& programs)
      : actors_(programs), versions_(programs, {.least_games = kLeastGames}) {
    Publish();
  }

  void Take(const v1::ActorReport& report, absl::Time now) {
    const std::string before = Figures(now);
    const absl::Status status = actors_.Report(report, now);
    if (!status.ok()) {
      CheckError(status);
      Require(Figures(now) == before, "a refused report has changed something");
      return;
    }
    Games().AcceptReport(report, now);
    for (const ScoredVersions::ProgramScore& changed : versions_.AcceptReport(report)) {
      Require(changed.score.games > 0 && IsMean(changed.score.mean_return));
      Games().SetPolicyReturn(changed.program, HbmShare(changed.score.mean_return));
    }
    CheckScored();
    CheckActors(now);
    CheckReturns();
    CheckWanted(report, now);
  }

 private:
  static bool IsMean(double value) { return std::abs(value) <= kMostReturn * (1 + 1e-9); }

  void Publish() {
    auto weights = std::make_shared<PublishedWeights>();
    weights->notice.set_sha256("candidate");
    weights->notice.set_step(++step_);
    versions_.Publish(std::move(weights));
  }

  // All that the book of actors tells, as text.
  std::string Figures(absl::Time now) const {
    const ActorTotals totals = actors_.Totals(kNewestStep, now);
    std::string text = absl::StrCat(totals.games, " ", totals.decisions, " ", totals.simulations,
                                    " ", totals.spooled_bytes, " ", totals.largest_lag);
    for (const auto& returns : {actors_.MeanReturns(), actors_.BestReturns()}) {
      for (const std::optional<HbmShare>& value : returns) {
        absl::StrAppend(&text, " ", value ? absl::StrCat(value->share()) : "none");
      }
    }
    for (const v1::RoleStatus& status : actors_.Describe(kNewestStep, now)) {
      absl::StrAppend(&text, " ", status.name(), status.uptime_seconds());
    }
    return text;
  }

  void CheckScored() {
    for (const ScoredVersion& version : versions_.TakeScored()) {
      for (const ScoredVersion::Score& score : version.scores) {
        Require(score.games >= kLeastGames && IsMean(score.mean_return));
      }
      Publish();
    }
  }

  void CheckActors(absl::Time now) const {
    const std::vector<v1::RoleStatus> described = actors_.Describe(kNewestStep, now);
    for (const v1::RoleStatus& status : described) {
      Require(!status.name().empty() && status.name().size() <= 256);
      for (const std::string* text : {&status.name(), &status.trouble(), &status.blocked_on()}) {
        CheckPrintable(*text);
      }
      for (const auto& [name, figure] : status.figures()) {
        Require(std::isfinite(figure) && figure >= 0, name);
      }
    }
    const ActorTotals totals = actors_.Totals(kNewestStep, now);
    Require(totals.actors == described.size());
    Require(totals.reanalysers <= totals.actors && totals.blocked <= totals.actors);
    for (const double sum :
         {totals.games, totals.decisions, totals.simulations, totals.spooled_bytes}) {
      Require(std::isfinite(sum) && sum >= 0);
    }
    Require(totals.largest_lag <= kNewestStep);
    Require(actors_.StoredBytes() <= kMostReportBytes * std::max<size_t>(described.size(), 1));
  }

  // Neither ASCII's control characters nor Unicode's further ones, U+0080 to U+009F.
  static void CheckPrintable(absl::string_view text) {
    for (size_t i = 0; i < text.size(); ++i) {
      const auto byte = static_cast<uint8_t>(text[i]);
      Require(byte >= 0x20 && byte != 0x7f, text);
      const bool is_control = i > 0 && text[i - 1] == '\xc2' && byte < 0xa0;
      Require(!is_control, text);
    }
  }

  // A program keeps its means, and they are those of returns.
  void CheckReturns() {
    const std::vector<std::optional<HbmShare>> means = actors_.MeanReturns();
    const std::vector<std::optional<HbmShare>> best = actors_.BestReturns();
    std::vector<ProgramStanding> standings = Games().Standings();
    for (size_t p = 0; p < means.size(); ++p) {
      Require(means[p].has_value() == best[p].has_value());
      if (!means[p]) {
        Require(!played_.contains(p), "a program's games are forgotten");
        continue;
      }
      played_.insert(p);
      Require(IsMean(means[p]->share()) && IsMean(best[p]->share()));
      standings[p].mean_return = means[p];
      standings[p].best_return = std::max(standings[p].best_return, *best[p]);
    }
    double sum = 0;
    for (const double weight : ProgramWeights(standings)) {
      Require(weight >= 0.2 / static_cast<double>(means.size()) - 1e-9);
      sum += weight;
    }
    Require(std::abs(sum - 1) < 1e-9);
  }

  void CheckWanted(const v1::ActorReport& report, absl::Time now) const {
    const std::vector<uint32_t> wanted = Games().Undemonstrated(report.games(), 16, now);
    const std::set<uint32_t> distinct(wanted.begin(), wanted.end());
    Require(distinct.size() == wanted.size());
    for (const uint32_t p : distinct) Require(p < TinyPrograms().size());
  }

  ActorBook actors_;
  ScoredVersions versions_;
  uint64_t step_ = 0;
  std::set<size_t> played_;  // programs with a mean return
};

void Replace(const std::vector<std::string>& programs, std::string& sha256) {
  if (sha256 == "p") sha256 = programs[0];
  if (sha256 == "q") sha256 = programs[1];
}

void Replace(const std::vector<std::string>& programs, v1::ActorReport& report) {
  if (report.rules_version() == 1) report.set_rules_version(kGameRulesVersion);
  for (auto& outcome : *report.mutable_outcomes()) {
    Replace(programs, *outcome.mutable_program_sha256());
  }
  for (auto& sha256 : *report.mutable_demonstrated()) Replace(programs, sha256);
  if (!report.has_candidate_games()) return;
  for (auto& program : *report.mutable_candidate_games()->mutable_programs()) {
    Replace(programs, *program.mutable_program_sha256());
  }
}

void Run(absl::string_view text) {
  const std::vector<std::string> programs = {TinyPrograms()[0].sha256(),
                                             TinyPrograms()[1].sha256()};
  Books books(programs);
  absl::Time now = absl::FromUnixSeconds(1'000'000);
  for (absl::string_view part : absl::StrSplit(text, "---")) {
    const size_t line = part.find('\n');
    uint32_t seconds = 0;
    if (line != absl::string_view::npos && absl::SimpleAtoi(part.substr(0, line), &seconds)) {
      now += absl::Seconds(seconds);
      part.remove_prefix(line);
    }
    v1::ActorReport report;
    if (!google::protobuf::TextFormat::ParseFromString(std::string(part), &report)) continue;
    // As gRPC delivers it, which refuses strings that are not UTF-8.
    const std::string bytes = report.SerializeAsString();
    if (!report.ParseFromString(bytes)) continue;
    Replace(programs, report);
    books.Take(report, now);
  }
}

}  // namespace
}  // namespace mallocmuzero

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const google::protobuf::LogSilencer silencer;
  mallocmuzero::Run(absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
