import CSystemd
import Glibc
import ProtectorProtocol

/// The session bus, and calls to one service on it.
final class SessionBus {
  /// How long a call that needs no person may take.
  private static let callLimit = Duration.seconds(25)

  private let bus: OpaquePointer
  private var service: String
  private let deadline: ContinuousClock.Instant

  /// Connects to the bus; all calls and waits end at `deadline`.
  init(service: String, until deadline: ContinuousClock.Instant) throws(ProtectorFailure) {
    var bus: OpaquePointer?
    let result = sd_bus_open_user(&bus)
    guard result >= 0, let bus else {
      throw ProtectorFailure(
        .noService, "there is no session bus, so no keyring can be reached; log in, or unlock with the passphrase")
    }
    (self.bus, self.service, self.deadline) = (bus, service, deadline)
  }

  deinit { sd_bus_flush_close_unref(bus) }

  /// Calls a method; `fill` appends its arguments.
  func call(
    _ path: String, _ interface: String, _ member: String,
    _ fill: (BusMessage) throws(ProtectorFailure) -> Void = { (_) throws(ProtectorFailure) in }
  ) throws(ProtectorFailure) -> BusMessage {
    var raw: OpaquePointer?
    guard sd_bus_message_new_method_call(bus, &raw, service, path, interface, member) >= 0, let raw else {
      throw .failed
    }
    let call = BusMessage(owning: raw)
    try fill(call)
    var (error, reply) = (sd_bus_error(), OpaquePointer?.none)
    defer { sd_bus_error_free(&error) }
    let limit = min(deadline - .now, Self.callLimit).components
    guard limit.seconds >= 0, limit.attoseconds >= 0 else { throw .timedOut }
    let microseconds = UInt64(limit.seconds) * 1_000_000 + UInt64(limit.attoseconds / 1_000_000_000_000) + 1
    guard sd_bus_call(bus, raw, microseconds, &error, &reply) >= 0, let reply else {
      throw Self.failure(error.name.map { String(cString: $0) } ?? "")
    }
    return BusMessage(owning: reply)
  }

  /// The failure for an error of D-Bus, whose words come from another program and are not passed on.
  private static func failure(_ name: String) -> ProtectorFailure {
    let errors = "org.freedesktop.DBus.Error."
    if name == errors + "ServiceUnknown" || name == errors + "NameHasNoOwner" || name.hasPrefix(errors + "Spawn.") {
      return ProtectorFailure(
        .noService, "no keyring runs (Secret Service); start GNOME Keyring, KWallet or KeePassXC, and try again")
    }
    switch name {
    case "org.freedesktop.Secret.Error.IsLocked": return .dismissed
    case errors + "NoReply", errors + "Timeout", errors + "Disconnected":
      return ProtectorFailure(.failed, "the keyring ended or did not answer; try again")
    default: return ProtectorFailure(.failed, "the keyring refused: \(name.isEmpty ? "it gave no reason" : name)")
    }
  }

  /// Sends all later calls to the program that sent this message, and not to another that takes its name; returns its
  /// name on the bus.
  func pin(to reply: BusMessage) throws(ProtectorFailure) -> String {
    guard let sender = reply.sender else { throw .failed }
    service = sender
    return sender
  }

  /// Makes the bus deliver signals that the match rule describes: dbus-daemon(1).
  func subscribe(_ rule: String) throws(ProtectorFailure) {
    guard sd_bus_add_match(bus, nil, rule, nil, nil) >= 0 else { throw .failed }
  }

  /// Waits for the first signal that `judge` takes.
  ///
  /// - Throws: also when `input` is at its end: the program that asked has gone.
  func wait<Answer>(
    orEndOf input: Int32, _ judge: (BusMessage) throws(ProtectorFailure) -> Answer?
  ) throws(ProtectorFailure) -> Answer {
    while true {
      var message: OpaquePointer?
      let result = sd_bus_process(bus, &message)
      guard result >= 0 else { throw ProtectorFailure(.failed, "the session bus has ended; log in again") }
      if let message {
        if let answer = try judge(BusMessage(owning: message)) { return answer }
        continue
      }
      guard result == 0 else { continue }
      let rest = (deadline - .now).components
      guard rest.seconds >= 0, rest.attoseconds >= 0 else { throw .timedOut }
      var ready = [
        pollfd(fd: sd_bus_get_fd(bus), events: Int16(truncatingIfNeeded: sd_bus_get_events(bus)), revents: 0),
        pollfd(fd: input, events: Int16(POLLIN), revents: 0),
      ]
      poll(&ready, 2, Int32(clamping: rest.seconds * 1000 + 1))
      if ready[1].revents != 0 { throw ProtectorFailure(.failed, "it was cancelled") }
    }
  }
}

/// A message of D-Bus, which is written or read from its beginning to its end.
final class BusMessage {
  private let message: OpaquePointer

  /// libsystemd wipes the message's memory when it is released.
  init(owning message: OpaquePointer) {
    self.message = message
    sd_bus_message_sensitive(message)
  }

  deinit { sd_bus_message_unref(message) }

  // MARK: Its header

  /// Whether it is this signal of this sender: any program can send one to this connection alone.
  func isSignal(_ interface: String, _ member: String, of sender: String) -> Bool {
    sd_bus_message_is_signal(message, interface, member) > 0 && self.sender == sender
  }
  /// The name on the bus of the program that sent it.
  var sender: String? { sd_bus_message_get_sender(message).map { String(cString: $0) } }
  var path: String? { sd_bus_message_get_path(message).map { String(cString: $0) } }

  // MARK: Writing

  /// Appends a text of type `s`, or an object's path `o`.
  func append(_ text: String, _ type: Unicode.Scalar = "s") throws(ProtectorFailure) {
    try Self.check(sd_bus_message_append_basic(message, Self.code(type), text))
  }

  func append(_ truth: Bool) throws(ProtectorFailure) {
    var value: Int32 = truth ? 1 : 0
    try Self.check(sd_bus_message_append_basic(message, Self.code("b"), &value))
  }

  func append(_ bytes: UnsafeRawBufferPointer) throws(ProtectorFailure) {
    try Self.check(sd_bus_message_append_array(message, Self.code("y"), bytes.baseAddress, bytes.count))
  }

  /// Appends a container: an array `a`, a variant `v`, a structure `r` or a dictionary's entry `e`.
  func append(
    _ type: Unicode.Scalar, of contents: String, _ fill: () throws(ProtectorFailure) -> Void
  ) throws(ProtectorFailure) {
    try Self.check(sd_bus_message_open_container(message, Self.code(type), contents))
    try fill()
    try Self.check(sd_bus_message_close_container(message))
  }

  // MARK: Reading

  func skip(_ types: String) throws(ProtectorFailure) { try Self.check(sd_bus_message_skip(message, types)) }

  /// Reads a text of type `s`, or an object's path `o`.
  func text(_ type: Unicode.Scalar) throws(ProtectorFailure) -> String {
    guard let text = try optionalText(type) else { throw .failed }
    return text
  }

  func truth() throws(ProtectorFailure) -> Bool {
    var value: Int32 = 0
    guard sd_bus_message_read_basic(message, Self.code("b"), &value) > 0 else { throw .failed }
    return value != 0
  }

  /// Reads an array of objects' paths.
  func paths() throws(ProtectorFailure) -> [String] {
    try enter("a", of: "o")
    var paths: [String] = []
    while let path = try optionalText("o") { paths.append(path) }
    try Self.check(sd_bus_message_exit_container(message))
    return paths
  }

  func enter(_ type: Unicode.Scalar, of contents: String) throws(ProtectorFailure) {
    guard sd_bus_message_enter_container(message, Self.code(type), contents) > 0 else { throw .failed }
  }

  /// Lends an array of bytes.
  func withBytes<Answer>(
    _ body: (UnsafeRawBufferPointer) throws(ProtectorFailure) -> Answer
  ) throws(ProtectorFailure) -> Answer {
    var (bytes, count) = (UnsafeRawPointer?.none, 0)
    try Self.check(sd_bus_message_read_array(message, Self.code("y"), &bytes, &count))
    return try body(UnsafeRawBufferPointer(start: bytes, count: count))
  }

  /// `nil` at the end of a container.
  private func optionalText(_ type: Unicode.Scalar) throws(ProtectorFailure) -> String? {
    var text: UnsafePointer<CChar>?
    try Self.check(sd_bus_message_read_basic(message, Self.code(type), &text))
    return text.map { String(cString: $0) }
  }

  private static func code(_ type: Unicode.Scalar) -> CChar { CChar(UInt8(ascii: type)) }

  private static func check(_ result: Int32) throws(ProtectorFailure) {
    guard result >= 0 else { throw .failed }
  }
}

extension ProtectorFailure {
  static let timedOut = ProtectorFailure(.failed, "the keyring was not unlocked in time; unlock it, and try again")
  static let dismissed = ProtectorFailure(
    .dismissed, "the keyring is locked, and was not unlocked; unlock it, and try again")
  /// A message that cannot be written, or is not what the specification says.
  static let failed = ProtectorFailure(.failed, "the keyring did not answer as a Secret Service does")
}
