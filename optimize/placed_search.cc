#include "optimize/placed_search.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/file_io.h"
#include "base/rounding.h"
#include "base/status_macros.h"
#include "base/steady_clock.h"
#include "compiler/compile.h"
#include "mallocmuzero/v1/compile.pb.h"
#include "mallocmuzero/v1/report.pb.h"
#include "optimize/placed_variant.h"
#include "optimize/search_compiler.h"
#include "simulator/core/program.h"
#include "simulator/import/analysis/price_module.h"

namespace mallocmuzero {
namespace {

// Rounds under the chip's own limit of scoped memory before other limits are tried.
constexpr int kFirstRounds = 2;

// The limits to try, as shares of the chip's own limit: first one on each side of it, then two more
// on the better side. docs/scoped-memory.md says how much they gain.
using Shares = std::vector<double>;
const Shares& FirstShares() {
  static const Shares& shares = *new Shares{1.5, 0.75};
  return shares;
}
Shares NextShares(double best) {
  if (best > 1) return {2, 3};
  return best < 1 ? Shares{0.5, 0.625} : Shares{};
}

// If the error of the first promise is larger than this, the estimates are probably of another chip
// or compiler. For every capture of the corpus the error is much smaller.
constexpr double kStrangeError = 0.25;

// Number of random placements to compile before the first round, and the largest share of the time
// for them. The captures of the corpus have four to eight samples.
constexpr int kSamples = 6;
constexpr double kShareOfSamples = 0.25;

class PlacedSearch {
 public:
  explicit PlacedSearch(const PlacedSearchRequest& request)
      : request_(request), compiler_(request) {}

  absl::StatusOr<PlacedSearchResult> Run() && {
    const absl::Time start = SteadyNow();
    MMZ_RETURN_IF_ERROR(CompileUnplaced());
    if (absl::Status status = Improve(start); !status.ok()) {
      if (!HasGained()) return status;
      report().add_notes(absl::StrCat("the search ended early: ", status.message()));
    }
    report().set_library(request_.library);
    report().set_library_version(compiler_.version());
    report().set_interrupted(Stopped());
    report().set_seconds(absl::ToDoubleSeconds(SteadyNow() - start));
    return std::move(result_);
  }

 private:
  // Looks for something faster than the default, in samples, rounds, and under other limits.
  absl::Status Improve(absl::Time start) {
    MMZ_RETURN_IF_ERROR(Sample(start));
    const bool tries_limits = TriesLimits();
    MMZ_RETURN_IF_ERROR(RunRounds(0, tries_limits ? kFirstRounds : request_.most_rounds));
    NoteStrangeEstimates();
    if (!tries_limits) return absl::OkStatus();
    MMZ_RETURN_IF_ERROR(TryLimits());
    return RunRounds(BestVariant(), request_.most_rounds);
  }

  v1::OptimizeReport& report() { return result_.report; }
  std::string Path(absl::string_view file) const {
    return absl::StrCat(request_.folder, "/", file);
  }
  bool Stopped() const { return request_.stop && request_.stop(); }
  bool HasTimeFor(int compiles) const {
    const absl::Duration expected = compiler_.slowest() * compiles + request_.solve_time;
    return !Stopped() && SteadyNow() + std::max(expected, slowest_round_) < request_.deadline;
  }
  size_t RoundsLeft() {
    const size_t done =
        std::count_if(report().rounds().begin(), report().rounds().end(),
                      [](const v1::PlacedRound& round) { return !round.is_sample(); });
    return request_.most_rounds - std::min<size_t>(done, request_.most_rounds);
  }
  bool HasGained() { return report().has_best_round() || report().best_scoped_limit_bytes() > 0; }

  // Compiles the program with everything in HBM and by default. Some programs compile by default
  // only: nothing can be placed then, but the default and other limits of scoped memory remain.
  absl::Status CompileUnplaced() {
    if (!request_.all_hbm_path.empty()) {
      MMZ_RETURN_IF_ERROR(AddVariant(request_.all_hbm_path, request_.default_path, 0));
      return PriceDefault();
    }
    absl::StatusOr<std::vector<v1::CompiledProgram>> compiled = compiler_.CompileAll(
        {{.code = request_.code, .format = request_.format},
         {.code = request_.code, .format = request_.format, .assigns_memory = true}});
    if (!compiled.ok()) return compiled.status();
    const v1::CompiledProgram& all_hbm = compiled->front();
    const v1::CompiledProgram& by_default = compiled->back();
    absl::Status all_hbm_status = CompileStatus(all_hbm);
    absl::Status default_status = CompileStatus(by_default);
    if (!all_hbm_status.ok() && !default_status.ok()) return all_hbm_status;
    if (absl::IsCancelled(default_status)) return default_status;
    std::string default_path;
    if (default_status.ok()) {
      KeepProgram(by_default);
      default_path = Path("default.pb");
      MMZ_RETURN_IF_ERROR(WriteFileAtomically(default_path, by_default.module()));
    } else {
      report().set_default_error(std::string(default_status.message()));
    }
    if (!all_hbm_status.ok()) {
      report().add_notes(
          absl::StrCat("under the own limit of scoped memory nothing can be placed, because with "
                       "everything in HBM ",
                       all_hbm_status.message()));
      return PriceDefaultAlone(default_path);
    }
    const std::string all_hbm_path = Path("all_hbm.pb");
    MMZ_RETURN_IF_ERROR(WriteFileAtomically(all_hbm_path, all_hbm.module()));
    MMZ_RETURN_IF_ERROR(AddVariant(all_hbm_path, default_path, 0));
    return PriceDefault();
  }

  absl::Status PriceDefaultAlone(const std::string& default_path) {
    const absl::StatusOr<v1::PriceReport> price = PriceModule(default_path, request_.hardware);
    if (!price.ok()) return price.status();
    report().set_program(price->name());
    report().set_chip(request_.hardware.name());
    report().set_default_cycles(price->total_cycles());
    report().set_optimized_cycles(price->total_cycles());
    return absl::OkStatus();
  }

  absl::Status AddVariant(const std::string& all_hbm_path, const std::string& default_path,
                          int64_t limit_bytes) {
    absl::StatusOr<PlacedVariant> variant =
        PlacedVariant::Create(request_, all_hbm_path, default_path, limit_bytes);
    if (!variant.ok()) return variant.status();
    variants_.push_back(*std::move(variant));
    return absl::OkStatus();
  }

  absl::Status PriceDefault() {
    const absl::StatusOr<Program> program = variants_.front().Import();
    if (!program.ok()) return program.status();
    report().set_program(program->proto().name());
    report().set_chip(request_.hardware.name());
    const Baseline* baseline = program->baseline();
    if (baseline == nullptr) return absl::OkStatus();
    report().set_default_cycles(baseline->compiled_cycles);
    report().set_optimized_cycles(report().default_cycles());
    return absl::OkStatus();
  }

  // Compiles random placements as samples, unless the request already has samples.
  absl::Status Sample(absl::Time start) {
    const bool has_samples = !request_.sample_paths.empty() || !request_.placed_paths.empty();
    if (has_samples || variants_.empty()) return absl::OkStatus();
    const absl::Time end = start + (request_.deadline - start) * kShareOfSamples;
    for (int done = 0; done < kSamples;) {
      const int at_once = std::min<int>(kSamples - done, request_.threads);
      // Compiles at once share the cores. At worst each takes the time of all.
      const absl::Duration expected =
          std::max(compiler_.slowest(), request_.compile_time * at_once);
      if (RoundsLeft() == 0 || Stopped() || SteadyNow() + expected > end) break;
      MMZ_RETURN_IF_ERROR(RunRound(std::vector<size_t>(at_once, 0), /*sample=*/true));
      done += at_once;
    }
    return absl::OkStatus();
  }

  // Runs at most `most` rounds of one variant.
  absl::Status RunRounds(size_t variant, size_t most) {
    if (variants_.empty()) return absl::OkStatus();
    for (size_t i = 0; i < most; ++i) {
      if (variants_[variant].is_exhausted() || RoundsLeft() == 0 || !HasTimeFor(1)) break;
      const absl::Time start = SteadyNow();
      MMZ_RETURN_IF_ERROR(RunRound({variant}, /*sample=*/false));
      slowest_round_ = std::max(slowest_round_, SteadyNow() - start);
    }
    return absl::OkStatus();
  }

  // Finds and places one mapping for each of the variants, then compiles all of them.
  absl::Status RunRound(const std::vector<size_t>& variants, bool sample) {
    std::vector<PlacedProposal> proposals;
    std::vector<SearchCompiler::Job> jobs;
    for (const size_t variant : variants) {
      const uint32_t number = report().rounds_size() + proposals.size() + 1;
      absl::StatusOr<PlacedProposal> proposal =
          sample ? variants_[variant].ProposeSample(number) : variants_[variant].Propose(number);
      if (!proposal.ok()) return proposal.status();
      if (!proposal->module.empty()) {
        jobs.push_back({.code = std::move(proposal->module),
                        .format = "hlo",
                        .scoped_limit_bytes = variants_[variant].scoped_limit_bytes()});
      }
      proposals.push_back(*std::move(proposal));
    }
    absl::StatusOr<std::vector<v1::CompiledProgram>> compiled =
        compiler_.CompileAll(std::move(jobs));
    if (!compiled.ok()) return compiled.status();
    auto next = compiled->begin();
    for (size_t i = 0; i < proposals.size(); ++i) {
      if (proposals[i].round.error().empty()) {
        MMZ_RETURN_IF_ERROR(variants_[variants[i]].Learn(*next, proposals[i]));
        const v1::CompiledProgram& program = *next++;
        const v1::PlacedRound& round = proposals[i].round;
        if (round.has_compiled_cycles() && IsBetter(round.compiled_cycles())) {
          KeepBest(program, round.compiled_cycles(), round.scoped_limit_bytes());
          report().set_best_round(round.number());
        }
      }
      if (request_.progress) request_.progress(proposals[i].round);
      *report().add_rounds() = std::move(proposals[i].round);
    }
    return absl::OkStatus();
  }

  bool IsBetter(double cycles) {
    return !report().has_optimized_cycles() || cycles < report().optimized_cycles();
  }

  void KeepBest(const v1::CompiledProgram& program, double cycles, double scoped_limit_bytes) {
    report().set_optimized_cycles(cycles);
    report().set_best_scoped_limit_bytes(scoped_limit_bytes);
    KeepProgram(program);
  }

  void KeepProgram(const v1::CompiledProgram& program) {
    result_.module = program.module();
    result_.executable = program.executable();
    report().set_executable_bytes(static_cast<double>(program.executable().size()));
    if (program.has_memory()) *report().mutable_memory() = program.memory();
  }

  // Adds a note if the estimates look wrong: a module does not say for which chip, or by which
  // compiler, it was made.
  void NoteStrangeEstimates() {
    if (request_.all_hbm_path.empty() || report().rounds().empty()) return;
    const v1::PlacedRound& first = report().rounds(0);
    if (!first.has_compiled_cycles()) return;
    const double error = first.promised_cycles() / first.compiled_cycles() - 1;
    if (std::abs(error) < kStrangeError) return;
    report().add_notes(
        absl::StrFormat("%s: its estimates differ by %+.0f %% from those of the compiler; was it "
                        "compiled for another chip than %s, or by another compiler?",
                        request_.all_hbm_path, 100 * error, request_.chip.name));
  }

  bool TriesLimits() const {
    return !request_.keep_scoped_limit && !request_.code.empty() &&
           request_.chip.scoped_reserve_bytes > 0 && !SetsScopedLimit(request_.options);
  }

  absl::Status TryLimits() {
    MMZ_RETURN_IF_ERROR(TryShares(FirstShares()));
    const auto own = static_cast<double>(request_.chip.scoped_reserve_bytes);
    const double best = variants_.empty()
                            ? report().best_scoped_limit_bytes()
                            : static_cast<double>(variants_[BestVariant()].scoped_limit_bytes());
    return TryShares(NextShares(best == 0 ? 1 : best / own));
  }

  // How many compiles one after the other take as long as this number of compiles at once.
  int InSequence(size_t compiles) const {
    return static_cast<int>((compiles + request_.threads - 1) / request_.threads);
  }

  // Tries limits: two compiles and a round for each. A limit that the compiler refuses is skipped.
  absl::Status TryShares(const Shares& shares) {
    const int in_sequence = InSequence(2 * shares.size()) + InSequence(shares.size());
    if (shares.empty() || RoundsLeft() == 0 || !HasTimeFor(in_sequence)) return absl::OkStatus();
    std::vector<SearchCompiler::Job> jobs;
    for (const double share : shares) {
      const auto limit =
          RoundToZero(share * static_cast<double>(request_.chip.scoped_reserve_bytes));
      for (const bool assigns_memory : {false, true}) {  // with everything in HBM, and by default
        jobs.push_back({.code = request_.code,
                        .format = request_.format,
                        .assigns_memory = assigns_memory,
                        .scoped_limit_bytes = limit});
      }
    }
    const absl::StatusOr<std::vector<v1::CompiledProgram>> compiled = compiler_.CompileAll(jobs);
    if (!compiled.ok()) return compiled.status();
    std::vector<size_t> added;
    for (size_t i = 0; i < jobs.size(); i += 2) {
      const absl::StatusOr<bool> is_added =
          AddLimit(jobs[i].scoped_limit_bytes, (*compiled)[i], (*compiled)[i + 1]);
      if (!is_added.ok()) return is_added.status();
      if (*is_added) added.push_back(variants_.size() - 1);
    }
    added.resize(std::min(added.size(), RoundsLeft()));
    if (added.empty() || !HasTimeFor(InSequence(added.size()))) return absl::OkStatus();
    return RunRound(added, /*sample=*/false);
  }

  // Makes the default under another limit a candidate, and adds a variant for the limit. Returns
  // false if there is no variant, because the compiler refused one of the two compiles, or made one
  // that cannot be read.
  absl::StatusOr<bool> AddLimit(int64_t limit, const v1::CompiledProgram& all_hbm,
                                const v1::CompiledProgram& by_default) {
    v1::ScopedLimitTrial& trial = *report().add_scoped_limits();
    trial.set_limit_bytes(static_cast<double>(limit));
    const auto skip = [&trial](const absl::Status& status) {
      trial.set_error(std::string(status.message()));
      return false;
    };
    if (const absl::Status status = CompileStatus(by_default); !status.ok()) return skip(status);
    const std::string stem = Path(absl::StrCat("limit_", limit >> 10, "_kib_"));
    const std::string default_path = stem + "default.pb";
    MMZ_RETURN_IF_ERROR(WriteFileAtomically(default_path, by_default.module()));
    const absl::StatusOr<v1::PriceReport> price = PriceModule(default_path, request_.hardware);
    if (!price.ok()) return skip(price.status());
    trial.set_default_cycles(price->total_cycles());
    if (IsBetter(trial.default_cycles())) {
      report().clear_best_round();
      KeepBest(by_default, trial.default_cycles(), trial.limit_bytes());
    }
    if (const absl::Status status = CompileStatus(all_hbm); !status.ok()) return skip(status);
    const std::string all_hbm_path = stem + "all_hbm.pb";
    MMZ_RETURN_IF_ERROR(WriteFileAtomically(all_hbm_path, all_hbm.module()));
    const absl::Status added = AddVariant(all_hbm_path, default_path, limit);
    return added.ok() || skip(added);
  }

  // The variant with the fastest module; the first variant if none has a module.
  size_t BestVariant() const {
    const auto is_faster = [](const PlacedVariant& a, const PlacedVariant& b) {
      return a.best_cycles().has_value() &&
             (!b.best_cycles().has_value() || *a.best_cycles() < *b.best_cycles());
    };
    return std::min_element(variants_.begin(), variants_.end(), is_faster) - variants_.begin();
  }

  const PlacedSearchRequest& request_;
  SearchCompiler compiler_;
  PlacedSearchResult result_;
  std::vector<PlacedVariant> variants_;  // that of the given options, if there is one, comes first
  absl::Duration slowest_round_;         // of a single variant, all its parts included
};

}  // namespace

absl::StatusOr<PlacedSearchResult> SearchPlacements(const PlacedSearchRequest& request) {
  return PlacedSearch(request).Run();
}

}  // namespace mallocmuzero
