// Tells ThreadSanitizer about synchronisation inside Debian's libraries, which are not
// instrumented: mutexes, notifications and counters of Abseil, completion queues and call counters
// of gRPC, tensor counters of LibTorch. Without this, ThreadSanitizer sees no order between
// critical sections, those of gRPC included, nor between the start of an operation and the callback
// that reports its end. scripts/sanitize preloads this library.

#include <dlfcn.h>
#include <grpc/grpc.h>
#include <grpcpp/support/server_callback.h>

#include <thread>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
}

namespace {

// The library's own function with this mangled name.
template <typename Function>
Function Real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

// Runs a call that may release the mutex and acquire it again. Meanwhile, conditions of other
// threads are evaluated, which only read.
template <typename Call>
auto GiveUp(void* mutex, const Call& call) {
  __tsan_release(mutex);
  AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  if constexpr (std::is_void_v<decltype(call())>) {
    call();
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  } else {
    const auto result = call();
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    return result;
  }
}

}  // namespace

namespace absl {
ABSL_NAMESPACE_BEGIN

void Mutex::Lock() {
  static const auto real = Real<void (*)(Mutex*)>("_ZN4absl7debian35Mutex4LockEv");
  real(this);
  __tsan_acquire(this);
}

void Mutex::Unlock() {
  static const auto real = Real<void (*)(Mutex*)>("_ZN4absl7debian35Mutex6UnlockEv");
  GiveUp(this, [&] { real(this); });
}

bool Mutex::TryLock() {
  static const auto real = Real<bool (*)(Mutex*)>("_ZN4absl7debian35Mutex7TryLockEv");
  const bool locked = real(this);
  if (locked) __tsan_acquire(this);
  return locked;
}

void Mutex::Await(const Condition& condition) {
  static const auto real =
      Real<void (*)(Mutex*, const Condition&)>("_ZN4absl7debian35Mutex5AwaitERKNS0_9ConditionE");
  GiveUp(this, [&] { real(this, condition); });
  __tsan_acquire(this);
}

bool Mutex::AwaitWithTimeout(const Condition& condition, Duration timeout) {
  static const auto real = Real<bool (*)(Mutex*, const Condition&, Duration)>(
      "_ZN4absl7debian35Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE");
  const bool result = GiveUp(this, [&] { return real(this, condition, timeout); });
  __tsan_acquire(this);
  return result;
}

void CondVar::Wait(Mutex* mutex) {
  static const auto real =
      Real<void (*)(CondVar*, Mutex*)>("_ZN4absl7debian37CondVar4WaitEPNS0_5MutexE");
  GiveUp(mutex, [&] { real(this, mutex); });
  __tsan_acquire(mutex);
}

bool CondVar::WaitWithTimeout(Mutex* mutex, Duration timeout) {
  static const auto real = Real<bool (*)(CondVar*, Mutex*, Duration)>(
      "_ZN4absl7debian37CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE");
  const bool result = GiveUp(mutex, [&] { return real(this, mutex, timeout); });
  __tsan_acquire(mutex);
  return result;
}

bool CondVar::WaitWithDeadline(Mutex* mutex, Time deadline) {
  static const auto real = Real<bool (*)(CondVar*, Mutex*, Time)>(
      "_ZN4absl7debian37CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE");
  const bool result = GiveUp(mutex, [&] { return real(this, mutex, deadline); });
  __tsan_acquire(mutex);
  return result;
}

// HasBeenNotified is an instrumented function in the header, and acquires by this address.
void Notification::Notify() {
  static const auto real = Real<void (*)(Notification*)>("_ZN4absl7debian312Notification6NotifyEv");
  __tsan_release(&notified_yet_);
  real(this);
}

void Notification::WaitForNotification() const {
  static const auto real =
      Real<void (*)(const Notification*)>("_ZNK4absl7debian312Notification19WaitForNotificationEv");
  real(this);
  __tsan_acquire(const_cast<std::atomic<bool>*>(&notified_yet_));
}

bool Notification::WaitForNotificationWithTimeout(Duration timeout) const {
  static const auto real = Real<bool (*)(const Notification*, Duration)>(
      "_ZNK4absl7debian312Notification30WaitForNotificationWithTimeoutENS0_8DurationE");
  const bool notified = real(this, timeout);
  if (notified) __tsan_acquire(const_cast<std::atomic<bool>*>(&notified_yet_));
  return notified;
}

bool BlockingCounter::DecrementCount() {
  static const auto real =
      Real<bool (*)(BlockingCounter*)>("_ZN4absl7debian315BlockingCounter14DecrementCountEv");
  __tsan_release(&count_);
  // After the last thread has counted, the counter may have been destroyed.
  return real(this);
}

void BlockingCounter::Wait() {
  static const auto real =
      Real<void (*)(BlockingCounter*)>("_ZN4absl7debian315BlockingCounter4WaitEv");
  real(this);
  __tsan_acquire(&count_);
}

ABSL_NAMESPACE_END
}  // namespace absl

// Taking an operation's tag from a queue happens after the start and after the end of that
// operation; between them are queues made of atomics, which ThreadSanitizer does not see.
extern "C" grpc_call_error grpc_call_start_batch(grpc_call* call, const grpc_op* ops, size_t nops,
                                                 void* tag, void* reserved) {
  static const auto real = Real<decltype(&grpc_call_start_batch)>("grpc_call_start_batch");
  __tsan_release(tag);
  return real(call, ops, nops, tag, reserved);
}

// From gRPC's src/core/lib/surface/completion_queue.h, which is not installed.
struct grpc_cq_completion;
void grpc_cq_end_op(grpc_completion_queue* queue, void* tag, absl::Status error,
                    void (*done)(void*, grpc_cq_completion*), void* done_arg,
                    grpc_cq_completion* storage, bool internal) {
  static const auto real = Real<decltype(&grpc_cq_end_op)>(
      "_Z14grpc_cq_end_opP21grpc_completion_queuePvN4absl7debian36StatusEPFvS1_P18grpc_cq_"
      "completionES1_S6_b");
  __tsan_release(tag);
  real(queue, tag, std::move(error), done, done_arg, storage, internal);
}

extern "C" grpc_event grpc_completion_queue_next(grpc_completion_queue* queue,
                                                 gpr_timespec deadline, void* reserved) {
  static const auto real =
      Real<decltype(&grpc_completion_queue_next)>("grpc_completion_queue_next");
  const grpc_event event = real(queue, deadline, reserved);
  if (event.type == GRPC_OP_COMPLETE) __tsan_acquire(event.tag);
  return event;
}

extern "C" grpc_event grpc_completion_queue_pluck(grpc_completion_queue* queue, void* tag,
                                                  gpr_timespec deadline, void* reserved) {
  static const auto real =
      Real<decltype(&grpc_completion_queue_pluck)>("grpc_completion_queue_pluck");
  const grpc_event event = real(queue, tag, deadline, reserved);
  if (event.type == GRPC_OP_COMPLETE) __tsan_acquire(tag);
  return event;
}

namespace grpc::internal {

// These two are called by the thread that counts the call's counter down to zero. Most calls come
// from the headers, which are instrumented and use these addresses; after OnCancel and before it,
// they come from the library.
void ServerCallbackCall::ScheduleOnDone(bool inline_ondone) {
  static const auto real = Real<void (*)(ServerCallbackCall*, bool)>(
      "_ZN4grpc8internal18ServerCallbackCall14ScheduleOnDoneEb");
  __tsan_acquire(&callbacks_outstanding_);
  real(this, inline_ondone);
}

// The library runs OnCancel on a thread of its executor and then counts, with no place for a
// release in between. So this does the same on a thread of its own.
void ServerCallbackCall::CallOnCancel(ServerReactor* reactor) {
  __tsan_acquire(&on_cancel_conditions_remaining_);
  Ref();
  std::thread([this, reactor] {
    reactor->OnCancel();
    __tsan_release(&callbacks_outstanding_);
    MaybeDone();
  }).detach();
}

}  // namespace grpc::internal

// LibTorch counts the references to a tensor both in its headers, which are instrumented, and in
// its library. A thread of Gloo may release the last reference, with which the tensor ends.
extern "C" void EndTensor(void** tensor) __asm__("_ZN3c1010TensorImplD1Ev");
extern "C" void EndTensor(void** tensor) {
  static const auto real = Real<void (*)(void**)>("_ZN3c1010TensorImplD1Ev");
  __tsan_acquire(tensor + 1);  // the address of c10::intrusive_ptr_target's refcount_
  real(tensor);
}
