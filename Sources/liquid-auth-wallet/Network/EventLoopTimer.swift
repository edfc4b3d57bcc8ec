import LiquidAuth
import NIOCore

/// Time by an event loop's alarms.
struct EventLoopTimer: TimerPort {
  private let loop: any EventLoop
  private let start = ContinuousClock.now

  init(on loop: any EventLoop) { self.loop = loop }

  var now: Duration { ContinuousClock.now - start }

  func wake(after delay: Duration, deliver: @escaping @Sendable () -> Void) -> any TimerAlarm {
    EventLoopAlarm(alarm: loop.scheduleTask(in: TimeAmount(max(.zero, delay))) { deliver() })
  }
}

private struct EventLoopAlarm: TimerAlarm {
  let alarm: Scheduled<Void>

  func cancel() { alarm.cancel() }
}
