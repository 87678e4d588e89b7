#include "cluster/slurm_site.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file_io.h"
#include "cluster/config_folder.h"
#include "cluster/config_mistakes.h"
#include "cluster/config_text.h"

namespace mallocmuzero {
namespace {

v1::SlurmSite DefaultSlurmSite() {
  v1::SlurmSite site;
  site.set_name("mallocmuzero");
  site.set_shared_dir("slurm");
  site.set_local_dir("${SLURM_TMPDIR:-/tmp/$USER}");
  site.set_local_shards(true);
  site.set_host_command("hostname -f");
  site.set_time_limit("24:00:00");
  site.set_drain_seconds(300);
  site.set_continue_after_time_limit(true);
  site.set_copy_seconds(600);
  site.set_lost_node_seconds(1800);
  site.mutable_replay()->set_cpus(2);
  site.mutable_learner()->set_cpus(4);
  site.mutable_learner()->set_gpus(1);
  site.mutable_actor()->set_cpus(4);
  return site;
}

bool HasOnly(absl::string_view text, absl::string_view punctuation) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [punctuation](char c) {
    return absl::ascii_isalnum(c) || absl::StrContains(punctuation, c);
  });
}

// The scripts do not quote these texts, so characters with a meaning to a shell are not allowed.
void CheckPlain(const std::string& text, const std::string& field, const std::string& expected,
                const ConfigSection& section, absl::string_view punctuation) {
  if (HasOnly(text, punctuation)) return;
  section.Complain(field, absl::StrCat("'", text, "': ", expected, " expected"));
}

void CheckOneLine(const std::string& text, const std::string& field, const ConfigSection& section,
                  int index = -1) {
  if (text.empty()) section.Complain(field, "empty; a text expected", index);
  if (absl::StrContains(text, '\n')) {
    section.Complain(field, "one line expected", index);
  }
}

void CheckResources(const v1::SlurmResources& resources, const ConfigSection& section) {
  CheckRanges(section, {{"cpus", 1, 4096}, {"gpus", 0, 64}});
  for (const char* field : {"partition", "account", "memory_per_cpu"}) {
    if (!section.Given(field)) continue;
    const std::string& text = field == std::string("partition") ? resources.partition()
                              : field == std::string("account") ? resources.account()
                                                                : resources.memory_per_cpu();
    CheckPlain(text, field, "letters, digits and ,._- ", section, ",._-");
  }
  for (int i = 0; i < resources.options_size(); ++i) {
    const std::string& option = resources.options(i);
    if (absl::StartsWith(option, "-") && HasOnly(option, "-=_.,:/@*[]()&|%")) continue;
    section.Complain(
        "options", absl::StrCat("'", option, "': one option of sbatch expected, such as --qos=low"),
        i);
  }
}

void CheckSlurmSite(const v1::SlurmSite& site, const ConfigSection& root) {
  CheckPlain(site.name(), "name", "letters, digits and hyphens", root, "-");
  CheckPlain(site.shared_dir(), "shared_dir", "a path of letters, digits and /._-+", root, "/._-+");
  CheckPlain(site.time_limit(), "time_limit", "a time of sbatch, such as 24:00:00", root, ":-");
  CheckOneLine(site.host_command(), "host_command", root);
  CheckOneLine(site.local_dir(), "local_dir", root);
  if (site.local_dir().find_first_of("\"'`\\") != std::string::npos ||
      absl::StrContains(site.local_dir(), "$(")) {
    root.Complain("local_dir", absl::StrCat("'", site.local_dir(),
                                            "': a path without quotes and commands expected"));
  }
  // Roles on a node start in different folders.
  if (!site.local_dir().empty() && !site.local_dir().starts_with('/') &&
      !site.local_dir().starts_with('$')) {
    root.Complain("local_dir", absl::StrCat("'", site.local_dir(),
                                            "': a path from / or from a variable expected, such as "
                                            "/local/$USER"));
  }
  for (int i = 0; i < site.command_size(); ++i) {
    CheckOneLine(site.command(i), "command", root, i);
  }
  for (int i = 0; i < site.setup_size(); ++i) CheckOneLine(site.setup(i), "setup", root, i);
  CheckRanges(root, {{"drain_seconds", 10, 65535},
                     {"copy_seconds", 0, 86400},
                     {"lost_node_seconds", 1, 30 * 86400.0}});
  CheckResources(site.replay(), root.Nested("replay"));
  CheckResources(site.learner(), root.Nested("learner"));
  CheckResources(site.actor(), root.Nested("actor"));
}

}  // namespace

absl::StatusOr<v1::SlurmSite> ParseSlurmSite(absl::string_view text, const std::string& path) {
  v1::SlurmSite site;
  ConfigMistakes mistakes;
  const ConfigPlaces places = ParseConfigText(text, site, mistakes);
  if (!places.complete) return mistakes.ToStatus(path);
  const ConfigSection root(site, places, mistakes);
  root.FillIn(DefaultSlurmSite());
  ConfigFolder(path).MakeAbsolute(*site.mutable_shared_dir());
  CheckSlurmSite(site, root);
  if (!mistakes.empty()) return mistakes.ToStatus(path);
  return site;
}

absl::StatusOr<v1::SlurmSite> ReadSlurmSite(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) return text.status();
  return ParseSlurmSite(*text, path);
}

}  // namespace mallocmuzero
