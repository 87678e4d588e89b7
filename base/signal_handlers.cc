#include "base/signal_handlers.h"

#include <csignal>

namespace mallocmuzero {
namespace {

void Handle(int signal, int flags, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(signal, &action, nullptr);
}

}  // namespace

bool SignalIsIgnored(int signal) {
  struct sigaction present = {};
  return sigaction(signal, nullptr, &present) == 0 && present.sa_handler == SIG_IGN;
}

StopSignalHandlers::StopSignalHandlers(void (*handler)(int), bool once_for_interrupt) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    if (SignalIsIgnored(signal)) continue;
    const bool once = signal == SIGINT && once_for_interrupt;
    Handle(signal, SA_RESTART | (once ? SA_RESETHAND : 0), handler);
    handled_.push_back(signal);
  }
}

StopSignalHandlers::~StopSignalHandlers() {
  for (const int signal : handled_) Handle(signal, 0, SIG_DFL);
}

}  // namespace mallocmuzero
