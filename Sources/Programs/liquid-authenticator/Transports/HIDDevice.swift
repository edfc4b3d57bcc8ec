import CTAPHID
import EventLoop
import Glibc
import Synchronization
import UHID

/// The way to one hidraw device: `/dev/uhid`, or the broker's socket.
protocol HIDConnection: Sendable {
  /// Readable while an event waits.
  var descriptor: Int32 { get }

  /// Passes on the events that wait, and never blocks; later ones stay for the next call if there are many.
  ///
  /// - Returns: whether the device still exists.
  func read(_ take: (DeviceEvent) -> Void) -> Bool

  /// Writes reports; never blocks. A report for which there is no room is lost.
  func write(_ reports: [Report])

  /// Removes the device, waits until it is gone, and closes the descriptor.
  func close()
}

/// A hidraw device that lasts as long as its connection.
///
/// Long answers are spread over time: ``ReportPacer``.
final class HIDDevice: DeviceLink, Polled {
  private struct State {
    /// `nil` once the device is closed.
    var connection: (any HIDConnection)?
    var pacer = ReportPacer()
    var hasEnded = false
  }

  /// Finds the device's node; blocks for a limited time.
  typealias FindNode = @Sendable () -> DeviceNode?

  let events = DeviceEvents()

  private let connection: any HIDConnection
  private let state: Mutex<State>
  private let findNode: FindNode
  private let clock: any MonotonicClock
  private let service = Mutex<EventLoop.Watch?>(nil)

  /// Serves a connection whose device exists; the device is removed with it.
  init(
    _ connection: any HIDConnection, clock: any MonotonicClock, on loop: EventLoop, findNode: @escaping FindNode
  ) {
    self.connection = connection
    self.findNode = findNode
    self.clock = clock
    state = Mutex(State(connection: connection))
    service.withLock { $0 = loop.watch(self) }
  }

  func node() async -> DeviceNode? { await OwnThread.run(findNode) }

  func send(_ reports: [Report]) {
    let waits = state.withLock { state in
      Self.write(state.pacer.admit(reports, at: clock.now), to: state.connection)
      return state.pacer.deadline != nil
    }
    if waits { service.withLock { $0?.wake() } }
  }

  func close() {
    guard let service = service.withLock({ $0.take() }) else { return }
    service.stop()
    state.withLock { $0.connection.take()?.close() }
    events.finish()
  }

  private static func write(_ reports: [Report], to connection: (any HIDConnection)?) {
    guard let connection, !reports.isEmpty else { return }
    connection.write(reports)
  }

  // MARK: The loop's thread

  func interests(_ descriptors: inout [pollfd]) -> Int32 {
    let (deadline, hasEnded) = state.withLock { ($0.pacer.deadline, $0.hasEnded) }
    if !hasEnded { descriptors.append(.readable(connection.descriptor)) }
    return deadline.map { $0.pollTimeout(from: clock.now) } ?? -1
  }

  func ready(_ descriptors: ArraySlice<pollfd>) {
    if descriptors.contains(where: \.isReadable), !connection.read(events.send) {
      state.withLock { $0.hasEnded = true }
      events.finish()
    }
    state.withLock { state in
      Self.write(state.pacer.due(at: clock.now), to: state.connection)
    }
  }
}
