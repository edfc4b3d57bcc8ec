import CTAPHID
import ControlProtocol
import EventLoop
import HelperProcess
import ProcessIO
import Synchronization
import UHID

/// A way to offer the device: the broker, uhid, a socket, a pseudo terminal.
///
/// A new transport is a new file and a case of ``TransportChoice``.
protocol ReportTransport: Sendable {
  /// Its name on the command line.
  var name: String { get }

  /// Makes the device appear; does not block the calling thread while it waits.
  ///
  /// Every attachment is a new device: a client of the old one must start over.
  func attach() async throws(TransportError) -> any DeviceLink
}

/// A device for as long as it is plugged in.
protocol DeviceLink: Sendable {
  /// The host's events, in order, until the device is gone.
  var events: DeviceEvents { get }

  /// Writes the reports of one message. It never waits: a client that does not read loses reports, as on hidraw.
  func send(_ reports: [Report])

  /// Waits for the node that clients open; `nil` if it cannot be found.
  func node() async -> DeviceNode?

  /// Makes the device disappear; when it returns, no client finds it any more. Blocks while the broker removes it.
  func close()
}

/// The transports, by their names on the command line.
enum TransportChoice: Equatable, Sendable {
  case broker
  case uhid
  case unix(String)
  case pty

  /// Whether the device is a hidraw node.
  var isHIDRaw: Bool { self == .broker || self == .uhid }

  /// The broker where it is installed, else uhid.
  static var preferred: Self { BrokerMessage.isInstalled ? .broker : .uhid }

  /// What ``init(_:)`` reads.
  static let values = "broker, uhid, unix:PATH, pty"

  /// Reads one of ``values``.
  init?(_ text: String) {
    switch text {
    case "broker": self = .broker
    case "uhid": self = .uhid
    case "pty": self = .pty
    case let socket where socket.hasPrefix("unix:") && socket.utf8.count > 5:
      self = .unix(String(socket.dropFirst(5)))
    default: return nil
    }
  }

  /// As it is written on the command line.
  var name: String {
    switch self {
    case .broker: "broker"
    case .uhid: "uhid"
    case .unix(let path): "unix:" + path
    case .pty: "pty"
    }
  }

  /// The help text of `--transport`.
  static let help = """
      --transport broker|uhid|unix:PATH|pty
                                        Where the key appears. (default: broker
                                        where it is installed, else uhid)
                                        With pty, start clients from a shell in a
                                        terminal. A session leader without a
                                        terminal (setsid) makes the pty its
                                        controlling terminal and waits there for
                                        your input. A replug can change the path
                                        of the pty; liquid-auth status shows it.
    """

  /// - Parameter helper: connects to the broker.
  func transport(on loop: EventLoop, helper: HelperProcess) -> any ReportTransport {
    switch self {
    case .broker: BrokerTransport(connect: helper.connectToBroker, loop: loop)
    case .uhid: UHIDTransport(loop: loop)
    case .unix(let path): UnixSocketTransport(path: path, loop: loop)
    case .pty: PTYTransport(loop: loop)
    }
  }
}

/// Why the device cannot be made.
struct TransportError: Error, CustomStringConvertible {
  let problem: Problem

  init(_ description: String) { problem = Problem(description) }

  init(_ problem: Problem) { self.problem = problem }

  /// The error of a failed system call, with the system's message.
  init(_ action: String, errno number: Int32, hint: String? = nil, remedy: Remedy? = nil) {
    problem = Problem("cannot \(action): \(SystemNumber(number))", hint: hint, remedy: remedy)
  }

  /// Lower case, no full stop: what happened, then what to do.
  var description: String { problem.text }
}

/// An event that the host causes.
enum DeviceEvent: Sendable, Equatable {
  /// The host wrote a report.
  case report(Report)
  /// The client of this channel has gone; `nil` means the clients of all channels.
  case left(ChannelID?)
}

/// The events of one device on their way to a receiver, in order.
///
/// They are kept until a receiver is set; beyond ``capacity`` the newest are dropped, as in the kernel's ring.
final class DeviceEvents: Sendable {
  /// Gets events in order, with `nil` for the end, on the thread that sends them.
  typealias Receiver = @Sendable ([DeviceEvent?]) -> Void

  /// How many events wait at most; the longest message has 129 reports.
  static let capacity = 2048

  private struct State {
    var waiting: [DeviceEvent?] = []
    var receiver: Receiver?
  }

  private let state = Mutex(State())

  func send(_ event: DeviceEvent) { pass(on: [event]) }

  /// Sends reports that were read together.
  func send(_ reports: [Report]) {
    guard !reports.isEmpty else { return }
    var events: [DeviceEvent?] = []
    events.reserveCapacity(reports.count)
    for report in reports { events.append(.report(report)) }
    pass(on: events)
  }

  /// Sends the end; call it once.
  func finish() { pass(on: [nil]) }

  private func pass(on events: [DeviceEvent?]) {
    let receiver = state.withLock { state in
      if state.receiver == nil {
        for event in events where event == nil || state.waiting.count < Self.capacity { state.waiting.append(event) }
      }
      return state.receiver
    }
    receiver?(events)
  }

  /// Passes all events to `receiver`, first those that are waiting.
  func receive(by receiver: @escaping Receiver) {
    while true {
      let waiting = state.withLock { state in
        if state.waiting.isEmpty { state.receiver = receiver }
        defer { state.waiting = [] }
        return state.waiting
      }
      guard !waiting.isEmpty else { return }
      receiver(waiting)
    }
  }
}
