#include "cluster/config_checks.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "actor/self_play.h"
#include "base/check_field.h"
#include "base/exists.h"
#include "base/thread_count.h"
#include "cluster/address_checks.h"
#include "learner/learner.h"
#include "learner/learner_checks.h"
#include "learner/run_directory.h"
#include "replay/client/replay_writer.h"
#include "replay/service/shard_config.h"
#include "rpc/host_port.h"
#include "rpc/security.h"

namespace mallocmuzero {
namespace {

constexpr double kMebibyte = 1 << 20;

bool IsName(absl::string_view name) {
  if (name.empty() || name.size() > 63) return false;
  for (const char c : name) {
    if (!absl::ascii_isalnum(c) && c != '-') return false;
  }
  return true;
}

// Adds the wrong fields of a section's message.
void ComplainOf(const std::vector<WrongField>& wrong, const ConfigSection& section) {
  for (const WrongField& field : wrong) {
    const size_t dot = field.field.find('.');
    if (dot == std::string::npos) {
      section.Complain(field.field, field.message);
    } else {
      section.Nested(field.field.substr(0, dot))
          .Complain(field.field.substr(dot + 1), field.message);
    }
  }
}

void CheckDevice(const std::string& device, const ConfigSection& section) {
  if (device.empty() || device == "cpu" || device == "cuda") return;
  section.Complain("device", absl::StrCat("'", device, "' given, 'cpu' or 'cuda' expected"));
}

// Checks section after section. Remembers names and folders of earlier sections, which later ones
// must not use again.
class Checker {
 public:
  Checker(const v1::ClusterConfig& config, const ConfigSection& root)
      : config_(config), root_(root) {}

  void CheckSecurity();
  void CheckShard(int index);
  void CheckLearner(bool programs);
  void CheckProcesses(const ConfigSection& section);
  void CheckFrom(const ConfigSection& section, bool programs);
  void CheckActors();

 private:
  void CheckSearch(const ConfigSection& learner);
  void CheckName(const std::string& name, const ConfigSection& section);

  const v1::ClusterConfig& config_;
  const ConfigSection& root_;
  AddressChecks addresses_;
  std::vector<std::pair<std::string, std::string>> names_;    // name, field that has it
  std::vector<std::pair<std::string, std::string>> folders_;  // folder, field that has it
};

void Checker::CheckSecurity() {
  const v1::Security& security = config_.security();
  const ConfigSection section = root_.Nested("security");
  const std::pair<const char*, const std::string*> files[] = {
      {"ca_file", &security.ca_file()},
      {"certificate_file", &security.certificate_file()},
      {"key_file", &security.key_file()},
      {"token_file", &security.token_file()},
      {"admin_token_file", &security.admin_token_file()}};
  int tls_files = 0;
  bool readable = true;
  for (const auto& [field, path] : files) {
    if (path->empty()) continue;
    // Machines of actors need not have this file, so a missing file is not checked here.
    if (path == &security.admin_token_file()) continue;
    tls_files += path != &security.token_file() ? 1 : 0;
    std::error_code error;
    if (std::filesystem::is_regular_file(*path, error)) continue;
    section.Complain(field, absl::StrCat("no file ", *path));
    readable = false;
  }
  if (tls_files != 0 && tls_files != 3) {
    for (int i = 0; i < 3; ++i) {
      if (!files[i].second->empty()) continue;
      section.Complain(
          files[i].first,
          "missing; TLS needs ca_file, certificate_file and key_file, all three or none");
    }
    return;
  }
  if (!readable) return;
  absl::StatusOr<std::shared_ptr<const Security>> loaded = Security::Load(security, "/");
  if (loaded.ok()) {
    addresses_.SetSecurity(*std::move(loaded));
    return;
  }
  // The message has the form "security.FIELD: what is wrong".
  const std::string message = std::string(loaded.status().message());
  for (const auto& [field, path] : files) {
    const std::string prefix = absl::StrCat("security.", field, ": ");
    if (absl::StartsWith(message, prefix)) {
      return section.Complain(field, message.substr(prefix.size()));
    }
  }
  section.Complain(message);
}

void Checker::CheckName(const std::string& name, const ConfigSection& section) {
  if (!section.GivenOrUnreadable("name") && name.empty()) {
    return section.Complain("name", "missing; letters, digits and hyphens expected");
  }
  if (!IsName(name)) {
    return section.Complain(
        "name", absl::StrCat("'", name, "': 1 to 63 letters, digits and hyphens expected"));
  }
  for (const auto& [other, field] : names_) {
    if (other == name) {
      return section.Complain("name", absl::StrCat("'", name, "' is also ", field,
                                                   "; every shard and the learner need their own"));
    }
  }
  names_.emplace_back(name, section.PathOf("name"));
}

void Checker::CheckShard(int index) {
  const v1::ReplayShard& shard = config_.replay(index);
  const ConfigSection section = root_.Nested("replay", index);
  CheckName(shard.name(), section);
  addresses_.CheckListen(shard.address(), shard.listen_address(), section);
  addresses_.CheckMetrics(shard.metrics_address(), 1, shard.address(), section);
  CheckRanges(section, ShardRanges());
  ComplainOf(WrongShardFields(shard), section);
  if (config_.learner().options().best_share() > 0 && shard.best_games() == 0) {
    section.Complain("best_games",
                     "0 given, 1 or more expected: learner.options.best_share of every batch is "
                     "drawn from them");
  }
  if (shard.mode() == v1::ReplayShard::MEMORY || shard.data_dir().empty()) return;
  for (const auto& [folder, field] : folders_) {
    if (folder == shard.data_dir()) {
      return section.Complain("data_dir", absl::StrCat(folder, " is also ", field,
                                                       "; every shard needs a folder of its own"));
    }
  }
  folders_.emplace_back(shard.data_dir(), section.PathOf("data_dir"));
}

void Checker::CheckSearch(const ConfigSection& learner) {
  const v1::SearchOptions& search = config_.learner().search();
  const ConfigSection section = learner.Nested("search");
  if (search.kind() == v1::SearchOptions::KIND_UNSPECIFIED) {
    section.Complain("kind", "GUMBEL or PUCT expected");
  }
  const absl::StatusOr<SearchConfig> made = MakeSearchConfig(search);
  if (!made.ok()) section.Complain(std::string(made.status().message()));
}

void Checker::CheckLearner(bool programs) {
  const v1::LearnerRole& learner = config_.learner();
  const ConfigSection section = root_.Nested("learner");
  CheckName(learner.name(), section);
  addresses_.CheckListen(learner.address(), learner.listen_address(), section);
  addresses_.CheckMetrics(learner.metrics_address(), learner.processes(), learner.address(),
                          section);
  CheckRanges(section, LearnerRoleRanges());
  CheckRanges(section.Nested("options"), LearnerOptionRanges());
  ComplainOf(WrongLearnerFields(learner), section);
  CheckSearch(section);
  CheckFrom(section, programs);
  if (learner.processes() > 1) CheckProcesses(section);
  if (learner.workloads().empty() && !section.GivenOrUnreadable("workloads") && programs) {
    section.Complain("workloads", "missing; a program or a folder of programs expected");
  }
  std::error_code error;
  if (programs && Exists(learner.run_dir()) &&
      !std::filesystem::is_directory(learner.run_dir(), error)) {
    section.Complain("run_dir", absl::StrCat(learner.run_dir(), " is not a folder"));
  }
  for (int i = 0; i < learner.workloads_size() && programs; ++i) {
    if (Exists(learner.workloads(i))) continue;
    section.Complain("workloads", absl::StrCat("no file or folder ", learner.workloads(i)), i);
  }
}

// Checks where the processes of a learner meet.
void Checker::CheckProcesses(const ConfigSection& section) {
  const v1::LearnerRole& learner = config_.learner();
  constexpr char kField[] = "rendezvous_address";
  const std::string& address = learner.rendezvous_address();
  if (!ParseHostPort(address).has_value()) {
    section.Complain(kField, absl::StrCat("'", address, "': host:port expected, where ",
                                          learner.processes(), " learner processes meet"));
  } else {
    addresses_.CheckMeeting(kField, address, learner.address(), section);
  }
}

void Checker::CheckFrom(const ConfigSection& section, bool programs) {
  const std::string& from = config_.learner().from();
  if (from.empty()) return;
  if (section.GivenOrUnreadable("network")) {
    section.Complain("network", "none expected besides from, whose networks are trained");
  }
  if (!programs || Exists(from)) return;
  // A run that goes on does not need it any more.
  const absl::StatusOr<RunDirectory> run = RunDirectory::Open(config_.learner().run_dir());
  if (!run.ok() || !run->GoesOn()) section.Complain("from", absl::StrCat("no file ", from));
}

void Checker::CheckActors() {
  const ConfigSection actor = root_.Nested("actor");
  CheckRanges(actor, {{"count", 0, 10000},
                      {"expected", 0, 100000},
                      {"threads", 0, kMostThreads},
                      {"games_in_flight", 1, 65536},
                      {"spool_bytes", kMebibyte, kMostSpoolBytes}});
  // Actors may run on any machine. If only this machine can reach the learner, they run here.
  const std::optional<HostPort> learner = ParseHostPort(config_.learner().address());
  const std::string machine = learner.has_value() && IsLoopback(*learner)
                                  ? config_.learner().address()
                                  : std::string("actors.invalid:1");
  addresses_.CheckMetrics(config_.actor().metrics_address(), config_.actor().count(), machine,
                          actor);
  if (config_.actor().spool_dir().empty()) {
    actor.Complain("spool_dir", "empty; a folder expected for games that no shard has taken yet");
  }
  CheckDevice(config_.actor().device(), actor);
  const ConfigSection reanalyse = root_.Nested("reanalyse");
  CheckRanges(reanalyse,
              {{"count", 0, 10000}, {"threads", 0, kMostThreads}, {"games_in_flight", 1, 65536}});
  addresses_.CheckMetrics(config_.reanalyse().metrics_address(), config_.reanalyse().count(),
                          machine, reanalyse);
  CheckDevice(config_.reanalyse().device(), reanalyse);
  if (config_.reanalyse().count() > 0 && config_.learner().search().simulations() == 0) {
    reanalyse.Complain("count", absl::StrCat(config_.reanalyse().count(),
                                             " given, 0 expected: with learner.search.simulations "
                                             "0 no game can be searched again"));
  }
}

}  // namespace

void CheckClusterConfig(const v1::ClusterConfig& config, bool programs, const ConfigSection& root) {
  Checker checker(config, root);
  checker.CheckSecurity();
  for (int i = 0; i < config.replay_size(); ++i) checker.CheckShard(i);
  checker.CheckLearner(programs);
  checker.CheckActors();
}

}  // namespace mallocmuzero
