#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "cli/agent/commands.h"
#include "cli/agent/run_role.h"
#include "cli/command_table.h"
#include "cli/print_report.h"
#include "cli/table.h"
#include "cluster/cluster_status.h"

namespace mallocmuzero::cli {
namespace {

constexpr absl::Duration kTimeout = absl::Seconds(2);

struct StatusFlags {
  ConfigFlags config;
  bool json = false;
};

// The most important figures of the role, then its rates, such as "games 12.3/s".
std::string FigureText(const v1::RoleStatus& role) {
  std::vector<std::string> parts;
  for (const char* name : {"step", "drawn_age", "positions", "policy_lag", "spooled_bytes"}) {
    const auto found = role.figures().find(name);
    if (found == role.figures().end()) continue;
    parts.push_back(absl::EndsWith(name, "_bytes")
                        ? absl::StrCat("spooled ", FormatBytes(found->second))
                        : absl::StrFormat("%s %.0f", name, found->second));
  }
  // A map of protobuf has no fixed order, so the rates are sorted.
  std::vector<std::string> rates;
  for (const auto& [name, value] : role.figures()) {
    absl::string_view what = name;
    if (!absl::ConsumeSuffix(&what, "_per_second")) continue;
    rates.push_back(absl::StrFormat("%s %.1f/s", what, value));
  }
  std::sort(rates.begin(), rates.end());
  parts.insert(parts.end(), rates.begin(), rates.end());
  return absl::StrJoin(parts, ", ");
}

void AddRows(const v1::RoleStatus& role, Table& table) {
  const bool answers = role.error().empty();
  table.AddRow({absl::AsciiStrToLower(v1::RoleStatus::Role_Name(role.role())), role.name(),
                role.address(), ToString(HealthOf(role)),
                answers && role.uptime_seconds() > 0
                    ? absl::FormatDuration(
                          absl::Trunc(absl::Seconds(role.uptime_seconds()), absl::Seconds(1)))
                    : "",
                answers ? FormatBytes(static_cast<double>(role.rss_bytes())) : "", FigureText(role),
                ReasonOf(role)});
  for (const v1::RoleStatus& peer : role.peers()) AddRows(peer, table);
}

std::string StatusText(const v1::ClusterStatus& status) {
  Table table({{"role"},
               {"name"},
               {"address"},
               {"health"},
               {"up", Table::Align::kRight},
               {"memory", Table::Align::kRight},
               {"figures"},
               {"waits for"}});
  for (const v1::RoleStatus& role : status.roles()) AddRows(role, table);
  // Every row may be well although there are too few actors.
  return status.healthy() ? table.ToText()
                          : absl::StrCat(table.ToText(), "\n", SummaryLine(status), "\n");
}

absl::StatusOr<ExitCode> RunStatus(const StatusFlags& flags) {
  const absl::StatusOr<LoadedConfig> loaded =
      LoadClusterConfig(flags.config, ConfigScope::kWithoutPrograms);
  if (!loaded.ok()) return loaded.status();
  const v1::ClusterStatus status =
      StatusCollector(loaded->config, loaded->security).Collect(kTimeout);
  const ExitCode verdict = status.healthy() ? ExitCode::kSuccess : ExitCode::kFailure;
  return flags.json ? PrintJson(status, verdict) : PrintText(StatusText(status), verdict);
}

}  // namespace

void AddStatusCommand(CLI::App& app, CommandBody& body) {
  CLI::App* command = AddSubcommand(app, "status");
  const auto flags = std::make_shared<StatusFlags>();
  AddConfigOption(*command, flags->config);
  AddJsonFlag(*command, "ClusterStatus", flags->json);
  command->footer(
      "Exit code 1: a role is away, blocked or degraded, or there are fewer actors than "
      "actor.expected.");
  command->callback([flags, &body] { body.run = [flags] { return RunStatus(*flags); }; });
}

}  // namespace mallocmuzero::cli
