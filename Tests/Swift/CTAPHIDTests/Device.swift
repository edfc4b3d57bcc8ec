import CTAPHID
import TestVectors

/// The state machine with a clock that the test moves, driven by reports in hexadecimal.
struct Device {
  static let identity = DeviceIdentity(major: 1, minor: 2, build: 3, capabilities: [.wink, .cbor, .nmsg])

  var machine: CTAPHIDStateMachine
  var now = Instant(nanoseconds: 0)

  init(capabilities: Capabilities = Device.identity.capabilities, firstChannel: UInt32 = 0x0a0b_0c01) {
    let identity = DeviceIdentity(major: 1, minor: 2, build: 3, capabilities: capabilities)
    machine = CTAPHIDStateMachine(identity: identity, firstChannel: firstChannel)
  }

  /// A device with the open channels `0a0b0c01` ….
  static func open(channels: Int = 1, capabilities: Capabilities = Device.identity.capabilities) -> Device {
    var device = Device(capabilities: capabilities)
    for _ in 0..<channels { _ = device.receive("ffffffff 86 0008 0001020304050607") }
    return device
  }

  mutating func wait(_ duration: Duration) { now = now.advanced(by: duration) }

  /// Feeds one report, written in hexadecimal with spaces and padded with 0xee, as some hosts do.
  mutating func receive(_ hex: String) -> [CTAPHIDStateMachine.Action] {
    machine.receive(report(hex, padding: 0xee), at: now)
  }

  mutating func receive(_ message: CTAPHIDMessage) throws -> [CTAPHIDStateMachine.Action] {
    try message.reports().flatMap { machine.receive($0, at: now) }
  }

  mutating func tick() -> [CTAPHIDStateMachine.Action] { machine.tick(at: now) }

  /// Begins a CBOR request on a channel and returns its transaction.
  mutating func request(_ payload: String = "04", on channel: String = "0a0b0c01") throws
    -> CTAPHIDStateMachine.TransactionID
  {
    for action in receive("\(channel) 90 0001 \(payload)") {
      if case .dispatch(let request) = action { return request.transaction }
    }
    throw NotDispatched()
  }

  struct NotDispatched: Error {}
}

/// A report from hexadecimal digits; spaces are ignored, and the rest is padding.
func report(_ hex: String, padding: UInt8 = 0) -> Report {
  let bytes = Hex(hex.filter { $0 != " " })?.bytes ?? []
  let filled = bytes + [UInt8](repeating: padding, count: max(0, 64 - bytes.count))
  return Report(filled) ?? Report(channel: .reserved, packet: .continuation(sequence: 0, payload: []))
}

/// The single action "send this report", padded with zeros.
func sent(_ hex: String) -> [CTAPHIDStateMachine.Action] { [.send(report(hex))] }

/// The ERROR report on a channel.
func refused(_ error: CTAPHIDError, on channel: String = "0a0b0c01") -> [CTAPHIDStateMachine.Action] {
  sent("\(channel) bf 0001 \(Hex([error.rawValue]))")
}

/// The reports that the actions send.
func reports(_ actions: [CTAPHIDStateMachine.Action]) -> [Report] {
  actions.compactMap { if case .send(let report) = $0 { report } else { nil } }
}

extension CTAPHIDStateMachine {
  /// Whether the client still waits for the answer; tries it on a copy.
  func awaitsAnswer(to transaction: TransactionID) -> Bool {
    var copy = self
    return !copy.respond([], to: transaction).isEmpty
  }
}
