// A moment that something is done, or has failed: the only way errors of asynchronous work travel.
#pragma once
#include <functional>
#include <memory>
#include <span>

#include "core/status.h"

namespace tercel::runtime {

// A handle, cheap to copy; copies are the same event. Any thread may use it.
class Event {
 public:
  using Callback = std::function<void(const Status&)>;

  // Ready without error; costs nothing.
  Event() = default;
  // Ready with `status`.
  explicit Event(const Status& status);
  // Not ready until set() is called, once, on it or a copy of it.
  static Event pending();
  // Ready when all of `events` are, with the first error in their order.
  static Event all(std::span<const Event> events);

  bool isReady() const;
  // Event() or a copy of one.
  bool isTrivial() const { return !state_; }
  // Of a ready event: its error, or ok.
  Status status() const;
  // Blocks the caller until ready.
  Status await() const;
  // Calls `callback` when ready: at once on this thread where it is already, else on the thread
  // that sets the event. Callbacks run in the order of their registration and must not block.
  void onReady(Callback callback) const;
  // Makes a pending event ready. False, and nothing happens, where it was ready already.
  bool set(Status status) const;

 private:
  struct State;
  explicit Event(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;  // null: ready without error
};

}  // namespace tercel::runtime
