#include "cluster/supervisor.h"

#include <poll.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/child_process.h"
#include "base/log_file.h"
#include "base/make_folder.h"
#include "base/size32.h"
#include "base/status_macros.h"
#include "base/steady_clock.h"

namespace mallocmuzero {
namespace {

// Longer lines are cut into several.
constexpr size_t kMostLineBytes = 16 << 10;

constexpr absl::Duration kRefreshInterval = absl::Seconds(1);

}  // namespace

struct Supervisor::Slot {
  Slot(const SupervisedProcess& given, LogFile file, const BackoffOptions& options)
      : process(given),
        log(std::move(file)),
        backoff(std::hash<std::string>()(given.name), options) {}

  const SupervisedProcess process;
  LogFile log;
  Backoff backoff;
  std::unique_ptr<ChildProcess> child;  // null if it does not run
  absl::Time next_start = absl::InfiniteFuture();
  absl::Time started;
  uint64_t starts = 0;
  int hopeless_exits = 0;
  bool was_ready = false;  // whether it was ever ready
  bool is_added = false;   // whether it came while others ran

  // When a process that is to end for good is killed; InfiniteFuture if the process is to run.
  absl::Time kill_at = absl::InfiniteFuture();
  bool is_leaving = false;
  std::string partial;  // the output after the last complete line
};

absl::StatusOr<std::unique_ptr<Supervisor>> Supervisor::Create(SupervisorOptions options) {
  std::unique_ptr<Supervisor> supervisor(new Supervisor(std::move(options)));
  const SupervisorOptions& given = supervisor->options_;
  MMZ_RETURN_IF_ERROR(MakeFolder(given.log_folder));
  for (const SupervisedProcess& process : given.processes) {
    MMZ_RETURN_IF_ERROR(supervisor->AddSlot(process));
  }
  return supervisor;
}

absl::Status Supervisor::AddSlot(const SupervisedProcess& process) {
  const auto path = std::filesystem::path(options_.log_folder) / (process.name + ".log");
  absl::StatusOr<LogFile> log = LogFile::Open(path.string(), options_.most_log_bytes);
  if (!log.ok()) return log.status();
  slots_.push_back(std::make_unique<Slot>(process, *std::move(log), options_.backoff));
  processes_ = Size32(slots_);
  return absl::OkStatus();
}

// Starts and stops processes as the newest list says.
void Supervisor::Refresh() {
  const absl::Time now = SteadyNow();
  if (options_.refresh == nullptr || now < refresh_at_) return;
  refresh_at_ = now + kRefreshInterval;
  std::optional<std::vector<SupervisedProcess>> processes = options_.refresh();
  if (processes.has_value()) wanted_ = std::move(processes);
  if (!wanted_.has_value()) return;
  StopUnwanted(*wanted_);
  if (StartWanted(*wanted_)) wanted_.reset();
}

void Supervisor::StopUnwanted(absl::Span<const SupervisedProcess> wanted) {
  for (auto& slot : slots_) {
    const bool stays = std::any_of(wanted.begin(), wanted.end(), [&](const auto& process) {
      return process.name == slot->process.name;
    });
    if (stays || slot->is_leaving) continue;
    slot->is_leaving = true;
    slot->next_start = absl::InfiniteFuture();
    slot->kill_at = SteadyNow() + std::max(options_.grace, slot->process.grace);
    options_.on_event(LogLevel::kInfo, absl::StrCat(slot->process.name, ": stops for good"));
    if (slot->child == nullptr) continue;
    slot->child->Signal(SIGTERM);
    slot->child->Signal(SIGCONT);  // for a process that is suspended, as in StopStage
  }
}

// Returns false if a process must wait until an earlier one of its name has left.
bool Supervisor::StartWanted(absl::Span<const SupervisedProcess> wanted) {
  bool complete = true;
  for (const SupervisedProcess& process : wanted) {
    const auto known = std::find_if(slots_.begin(), slots_.end(), [&](const auto& slot) {
      return slot->process.name == process.name;
    });
    if (known != slots_.end()) {
      complete = complete && !(*known)->is_leaving;
    } else if (const absl::Status status = AddSlot(process); !status.ok()) {
      options_.on_event(LogLevel::kError, absl::StrCat(process.name, ": ", status.message()));
    } else {
      slots_.back()->is_added = true;
      if (process.stage <= stage_) slots_.back()->next_start = SteadyNow();
    }
  }
  return complete;
}

Supervisor::Supervisor(SupervisorOptions options) : options_(std::move(options)) {}

Supervisor::~Supervisor() = default;

int Supervisor::HighestStage() const {
  int highest = 0;
  for (const auto& slot : slots_) highest = std::max(highest, slot->process.stage);
  return highest;
}

absl::Status Supervisor::Run(int stop_fd, absl::Time deadline) {
  stage_deadline_ = absl::InfinitePast();
  while (!stop_asked_ && hopeless_.empty() && SteadyNow() < deadline) {
    Refresh();
    StartNextStage();
    StartDue();
    Poll(stop_fd, deadline, /*stopping=*/false);
    // A process that has left for good needs its place no more.
    std::erase_if(slots_,
                  [](const auto& slot) { return slot->is_leaving && slot->child == nullptr; });
    processes_ = Size32(slots_);
  }
  refresh_at_ = absl::InfiniteFuture();
  for (auto& slot : slots_) slot->next_start = absl::InfiniteFuture();
  for (int stage = HighestStage(); stage >= 0; --stage) StopStage(stage);
  if (hopeless_.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(hopeless_);
}

void Supervisor::StartNextStage() {
  if (stage_ >= HighestStage()) return;
  bool ready = true;
  for (const auto& slot : slots_) {
    if (slot->process.stage > stage_ || slot->is_leaving) continue;
    ready = ready && slot->child != nullptr && slot->child->ready();
  }
  const absl::Time now = SteadyNow();
  if (!ready && now < stage_deadline_) return;
  if (!ready && stage_ >= 0) {
    options_.on_event(LogLevel::kWarning, "not all processes are ready; starts the next stage");
  }
  ++stage_;
  stage_deadline_ = now + options_.ready_timeout;
  for (auto& slot : slots_) {
    if (slot->process.stage == stage_) slot->next_start = now;
  }
}

void Supervisor::StartDue() {
  for (auto& slot : slots_) {
    if (slot->child == nullptr && slot->next_start <= SteadyNow()) Launch(*slot);
    if (slot->child == nullptr || slot->kill_at > SteadyNow()) continue;
    slot->kill_at = absl::InfiniteFuture();
    slot->child->Signal(SIGKILL);
  }
}

void Supervisor::Launch(Slot& slot) {
  std::vector<std::string> command = slot.process.command;
  if (!slot.was_ready) {
    const std::vector<std::string>& first = slot.process.first_arguments;
    command.insert(command.end(), first.begin(), first.end());
  }
  absl::StatusOr<std::unique_ptr<ChildProcess>> child = ChildProcess::Start(command);
  slot.next_start = absl::InfiniteFuture();
  slot.started = SteadyNow();
  if (slot.starts++ > 0) ++restarts_;
  if (!child.ok()) {
    const absl::Duration delay = slot.backoff.Next();
    slot.next_start = SteadyNow() + delay;
    options_.on_event(LogLevel::kError,
                      absl::StrCat(slot.process.name, ": cannot start (", child.status().message(),
                                   "); tries again in ", absl::FormatDuration(delay)));
    return;
  }
  slot.child = *std::move(child);
  ++running_;
  options_.on_event(LogLevel::kInfo,
                    absl::StrCat(slot.process.name, ": started, process ", slot.child->pid()));
}

absl::Time Supervisor::NextEvent() const {
  absl::Time next = stage_ < HighestStage() ? stage_deadline_ : absl::InfiniteFuture();
  if (options_.refresh != nullptr) next = std::min(next, refresh_at_);
  for (const auto& slot : slots_) {
    next = std::min(next, slot->child == nullptr ? slot->next_start : slot->kill_at);
  }
  return next;
}

void Supervisor::Poll(int stop_fd, absl::Time deadline, bool stopping) {
  enum class Source : uint8_t { kOutput, kReady, kEnd };
  std::vector<pollfd> entries = {{.fd = stopping ? -1 : stop_fd, .events = POLLIN}};
  std::vector<std::pair<Slot*, Source>> sources;  // of the entries behind the first
  // Only open files: poll(2) refuses more entries than the process may have files.
  const auto watch = [&](Slot& slot, Source source, int fd) {
    if (fd < 0) return;
    entries.push_back({.fd = fd, .events = POLLIN});
    sources.emplace_back(&slot, source);
  };
  for (auto& slot : slots_) {
    if (slot->child == nullptr) continue;
    watch(*slot, Source::kOutput, slot->child->output_fd());
    watch(*slot, Source::kReady, slot->child->ready_fd());
    watch(*slot, Source::kEnd, slot->child->exit_fd());
  }
  // While all processes stop, nothing else is due.
  const absl::Time next = stopping ? deadline : std::min(deadline, NextEvent());
  const absl::Duration wait =
      std::clamp(next - SteadyNow(), absl::ZeroDuration(), absl::Seconds(60));
  // Rounded up, so that the loop does not spin during the last millisecond.
  const int milliseconds = absl::ToInt64Milliseconds(absl::Ceil(wait, absl::Milliseconds(1)));
  if (poll(entries.data(), entries.size(), milliseconds) <= 0) return;
  if (entries[0].revents != 0) stop_asked_ = true;
  for (size_t i = 0; i < sources.size(); ++i) {
    if (entries[i + 1].revents == 0) continue;
    auto& [slot, source] = sources[i];
    if (source == Source::kOutput) ReadFrom(*slot);
    if (source == Source::kReady) slot->child->ready();
    if (source == Source::kEnd) NoteEnd(*slot, stopping);
  }
}

void Supervisor::ReadFrom(Slot& slot) {
  slot.partial += slot.child->ReadOutput();
  std::string complete;
  size_t begin = 0;
  while (begin < slot.partial.size()) {
    size_t end = slot.partial.find('\n', begin);
    const bool whole = end != std::string::npos;
    if (!whole && slot.partial.size() - begin < kMostLineBytes && slot.child->output_fd() >= 0)
      break;
    if (!whole || end - begin > kMostLineBytes) {
      end = std::min(slot.partial.size(), begin + kMostLineBytes);
    }
    const absl::string_view line = absl::string_view(slot.partial).substr(begin, end - begin);
    options_.on_line(slot.process.name, line);
    absl::StrAppend(&complete, line, "\n");
    begin = end < slot.partial.size() && slot.partial[end] == '\n' ? end + 1 : end;
  }
  slot.partial.erase(0, begin);
  if (!complete.empty()) slot.log.Append(complete);
}

void Supervisor::NoteEnd(Slot& slot, bool stopping) {
  std::string how;
  if (!slot.child->HasEnded(how)) return;
  // Reads the rest of the output, which may say why the process has ended.
  for (size_t before = 0; slot.child->output_fd() >= 0;) {
    ReadFrom(slot);
    if (slot.partial.size() == before) break;
    before = slot.partial.size();
  }
  const int exit_code = slot.child->exit_code();
  const bool settled = SteadyNow() - slot.started >= options_.settled;
  slot.was_ready = slot.was_ready || slot.child->ready();
  slot.child.reset();
  slot.partial.clear();
  --running_;
  if (stopping || slot.is_leaving) {
    return options_.on_event(LogLevel::kInfo, absl::StrCat(slot.process.name, ": ", how));
  }
  if (settled) slot.backoff.Reset();
  // A process that was ready before can run, so its exit code does not mean that it is hopeless.
  const bool hopeless = exit_code == options_.hopeless_exit_code && !slot.was_ready;
  slot.hopeless_exits = hopeless ? slot.hopeless_exits + 1 : 0;
  if (slot.hopeless_exits >= options_.most_hopeless_exits) {
    const std::string why = absl::StrCat(slot.process.name, " cannot run: it ", how, " ",
                                         slot.hopeless_exits, " times; its log says why");
    if (!slot.is_added) {
      hopeless_ = why;
      return;
    }
    // The others ran without it.
    slot.is_leaving = true;
    if (wanted_.has_value()) {
      std::erase_if(*wanted_, [&](const auto& one) { return one.name == slot.process.name; });
    }
    options_.on_event(LogLevel::kError,
                      absl::StrCat(why, ". It is left out until the list changes"));
    return;
  }
  const absl::Duration delay = slot.backoff.Next();
  slot.next_start = SteadyNow() + delay;
  options_.on_event(LogLevel::kWarning,
                    absl::StrCat(slot.process.name, ": ", how, "; starts again in ",
                                 absl::FormatDuration(absl::Trunc(delay, absl::Milliseconds(1)))));
}

void Supervisor::StopStage(int stage) {
  const auto signal_all = [&](int signal) {
    for (auto& slot : slots_) {
      if (slot->process.stage != stage || slot->child == nullptr) continue;
      // A process that leaves the list has got SIGTERM before. A second one would run its handler
      // again.
      if (signal == SIGTERM && slot->is_leaving) continue;
      slot->child->Signal(signal);
    }
  };
  const auto any = [&] {
    return std::any_of(slots_.begin(), slots_.end(), [stage](const auto& slot) {
      return slot->process.stage == stage && slot->child != nullptr;
    });
  };
  // A process that is suspended (SIGSTOP) gets SIGTERM only once it runs again. SIGTERM is sent
  // first, so that the process handles it before anything else.
  signal_all(SIGTERM);
  signal_all(SIGCONT);
  absl::Duration grace = options_.grace;
  for (const auto& slot : slots_) {
    if (slot->process.stage == stage) grace = std::max(grace, slot->process.grace);
  }
  const absl::Time deadline = SteadyNow() + grace;
  while (any() && SteadyNow() < deadline) Poll(-1, deadline, /*stopping=*/true);
  if (!any()) return;
  options_.on_event(LogLevel::kWarning, "not all processes have stopped in time; kills the others");
  signal_all(SIGKILL);
  while (any()) Poll(-1, absl::InfiniteFuture(), /*stopping=*/true);
}

}  // namespace mallocmuzero
