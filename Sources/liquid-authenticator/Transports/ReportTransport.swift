import CTAPHID

/// One way for a device to be there: uhid, a socket, a pseudo terminal.
protocol ReportTransport: Sendable {
  /// How the option of the command line names it.
  var name: String { get }

  /// Makes the device appear. Every attachment is a new device: a client of the old one has to begin anew.
  func attach() throws(TransportError) -> any DeviceLink
}

/// A device for as long as it is plugged in.
protocol DeviceLink: Sendable {
  /// What the host does, in order; it ends when the device is gone.
  ///
  /// What nobody takes from it is dropped above `DeviceEvent.capacity`, as a kernel's ring does.
  var events: AsyncStream<DeviceEvent> { get }

  /// Writes the reports of one message. It never waits: a client that does not read loses reports, as on hidraw.
  func send(_ reports: [Report])

  /// Waits until it is known what clients open; `nil` when it cannot be found out.
  func node() async -> DeviceNode?

  /// Makes the device disappear; when it returns, no client finds it any more.
  func close()
}

/// Why there is no device.
struct TransportError: Error, CustomStringConvertible {
  /// Lower case, no full stop: what happened, then what to do.
  let description: String

  init(_ description: String) { self.description = description }

  /// What the system refused, with its own words for why.
  init(_ action: String, errno number: Int32, hint: String? = nil) {
    description = "cannot \(action): \(SystemNumber(number))" + (hint.map { "; " + $0 } ?? "")
  }
}

/// What the host does to a device, between the thread that reads it and the actor that answers it.
enum DeviceEvent: Sendable, Equatable {
  /// The host wrote a report.
  case report(Report)
  /// Nobody reads the answers on this channel any more; on any channel, when it is `nil`.
  case left(ChannelID?)

  /// How many events wait at most; the longest message has 129 reports.
  static let capacity = 2048

  static func makeStream() -> (stream: AsyncStream<DeviceEvent>, continuation: AsyncStream<DeviceEvent>.Continuation) {
    AsyncStream.makeStream(of: DeviceEvent.self, bufferingPolicy: .bufferingOldest(capacity))
  }
}
