import CTAPHID
import EventLoop
import Glibc
import Synchronization

/// The device behind a pseudo terminal.
///
/// The daemon keeps the client's end open too: otherwise poll(2) would report a hang-up without end. So the daemon
/// cannot see that a client has closed it, and the client's prompt stays until it times out. Reports that the client
/// did not read are dropped when the next client begins.
final class PTYDevice: DeviceLink, Polled {
  let events = DeviceEvents()

  private let controller: Int32
  private let terminal: Int32
  private let path: String
  private let output = Mutex(PTYOutput())
  private let input: Mutex<PTYInput>
  private let clock: any MonotonicClock
  private let watch = Mutex<EventLoop.Watch?>(nil)

  /// Serves the terminal; both descriptors are closed with the device.
  init(controller: Int32, terminal: Int32, path: String, on loop: EventLoop) {
    self.controller = controller
    self.terminal = terminal
    self.path = path
    clock = loop
    input = Mutex(PTYInput())
    watch.withLock { $0 = loop.watch(self) }
  }

  func node() async -> DeviceNode? { DeviceNode(path) }

  func send(_ reports: [Report]) {
    let waits = output.withLock { output in
      output.append(reports)
      return flush(&output)
    }
    if waits { watch.withLock { $0?.wake() } }
  }

  func close() {
    guard let watch = watch.withLock({ $0.take() }) else { return }
    watch.stop()
    output.withLock { output in
      output.isOpen = false
      Glibc.close(terminal)
      Glibc.close(controller)
    }
    events.finish()
  }

  // MARK: The loop's thread

  func interests(_ descriptors: inout [pollfd]) -> Int32 {
    let events = output.withLock { $0.bytes.isEmpty } ? POLLIN : POLLIN | POLLOUT
    descriptors.append(pollfd(fd: controller, events: Int16(events), revents: 0))
    return -1
  }

  func ready(_ descriptors: ArraySlice<pollfd>) {
    guard let controller = descriptors.first else { return }
    if controller.isReadable { readBytes() }
    if controller.isWritable { output.withLock { _ = flush(&$0) } }
  }

  private func readBytes() {
    var bytes = [UInt8](repeating: 0, count: 65 * 16)
    let count = read(controller, &bytes, bytes.count)
    guard count > 0 else { return }
    let reports = input.withLock { $0.append(bytes.prefix(count), at: clock.now) }
    for report in reports {
      if report.beginsClient { dropUnread() }
      events.send(.report(report))
    }
  }

  /// Drops unread output: the next client would take the answers to a previous one for its own.
  private func dropUnread() {
    output.withLock { output in
      output.bytes = []
      guard output.isOpen else { return }
      // What is on its way, then what has arrived.
      tcflush(controller, TCOFLUSH)
      tcflush(terminal, TCIFLUSH)
    }
  }

  /// Writes what the terminal takes; returns whether something is left for later.
  private func flush(_ output: inout PTYOutput) -> Bool {
    while output.isOpen, !output.bytes.isEmpty {
      let count = output.bytes.withUnsafeBytes { write(controller, $0.baseAddress, $0.count) }
      guard count > 0 else { return errno == EAGAIN }
      output.bytes.removeFirst(count)
    }
    return false
  }
}

extension Report {
  /// Whether it is a CTAPHID_INIT on the broadcast channel, the first report of every client (CTAP §11.2.9.1.3).
  fileprivate var beginsClient: Bool {
    guard channel == .broadcast, case .initialization(.initialize, _, _) = packet else { return false }
    return true
  }
}

/// The output to a terminal; a report that was begun is written whole.
struct PTYOutput {
  /// How many bytes wait at most, enough for the longest message (129 reports); what a client does not read is dropped.
  static let capacity = 192 * Report.size

  var bytes: ArraySlice<UInt8> = []
  var isOpen = true

  /// Adds the reports that fit; the longest message fits if nothing waits.
  mutating func append(_ reports: [Report]) {
    guard isOpen else { return }
    for report in reports where bytes.count < Self.capacity { bytes += report.bytes }
  }
}

/// Splits the bytes of a terminal into reports.
struct PTYInput {
  /// What a client writes for one report: the number 0, then the report.
  static let frame = Report.size + 1

  private var partial: [UInt8] = []
  private var lastAppended: Instant?

  /// Takes some bytes; returns the reports that are complete now.
  ///
  /// Drops the part of a report that a client did not finish within a message's time-out: a client that died in the
  /// middle would otherwise shift every report after it.
  mutating func append(_ bytes: some Sequence<UInt8>, at now: Instant) -> [Report] {
    if let lastAppended, lastAppended.advanced(by: CTAPHIDStateMachine.messageTimeout) <= now { partial = [] }
    lastAppended = now
    partial += bytes
    var reports: [Report] = []
    while partial.count >= Self.frame {
      let report = partial.withUnsafeBufferPointer {
        Report(hostBytes: UnsafeBufferPointer(rebasing: $0[..<Self.frame]))
      }
      if let report { reports.append(report) }
      partial.removeFirst(Self.frame)
    }
    return reports
  }
}
