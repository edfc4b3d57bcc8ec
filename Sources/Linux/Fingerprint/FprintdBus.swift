import CSystemd
import Logind
import ProcessIO
import Synchronization

/// The connection to fprintd on the system bus, used by one thread at a time.
final class FprintdBus: @unchecked Sendable {
  private static let name = "net.reactivated.Fprint"
  private static let manager = "/net/reactivated/Fprint/Manager"
  /// How long a call may take: the bus may have to start fprintd, which then looks for readers.
  private static let limit = Duration.seconds(10)
  /// How long the calls VerifyStop and Release may take: fprintd carries them out even if nobody waits for the answer.
  private static let limitOfEnding = Duration.seconds(1)

  private let bus: OpaquePointer
  private let turn = Mutex(())
  /// fprintd's unique name on the bus, from its last answer: no other program can take this name.
  private var owner = ""
  /// The reader that this connection has claimed, or that fprintd may still claim for it.
  private(set) var claimed: String?

  init?(until deadline: ContinuousClock.Instant) {
    guard let bus = SystemBus.connect(until: deadline) else { return nil }
    self.bus = bus
  }

  // Without a flush, which would wait for a bus that does not answer; every call has waited for its own answer.
  deinit { sd_bus_close_unref(bus) }

  /// Runs `body` while no other thread uses the connection.
  func alone<Answer>(
    _ body: (FprintdBus) throws(FingerprintFailure) -> Answer
  ) throws(FingerprintFailure) -> Answer {
    try turn.withLock { _ throws(FingerprintFailure) in try body(self) }
  }

  // MARK: Calls

  /// The object of the default reader.
  func device() throws(FingerprintFailure) -> String {
    let reply = try send("GetDefaultDevice", Self.name, Self.manager, "Manager", nil)
    defer { sd_bus_message_unref(reply) }
    var path: UnsafePointer<CChar>?
    guard sd_bus_message_read_basic(reply, CChar(UInt8(ascii: "o")), &path) > 0, let path,
      let sender = sd_bus_message_get_sender(reply)
    else { throw .malformed }
    owner = String(cString: sender)
    return String(cString: path)
  }

  /// Calls a method of the reader, and ignores the content of the answer.
  func call(_ member: String, of device: String, with argument: String) throws(FingerprintFailure) {
    sd_bus_message_unref(try send(member, owner, device, "Device", argument))
  }

  /// Claims the reader.
  ///
  /// If fprintd does not answer, it may still claim the reader, and ``claimed`` is set.
  func claim(_ device: String) throws(FingerprintFailure) {
    release()
    // fprintd still carries out an earlier claim.
    guard claimed == nil else { throw .inUse }
    claimed = device
    do throws(FingerprintFailure) {
      try call("Claim", of: device, with: "")
    } catch {
      if error != .silent { claimed = nil }
      release()
      throw error
    }
  }

  /// Releases the reader if this connection may have claimed it.
  ///
  /// fprintd refuses while it carries out a claim (AlreadyInUse); then ``claimed`` stays set.
  func release() {
    guard let device = claimed else { return }
    let failure = end("Release", of: device)
    if failure != .silent, failure != .inUse { claimed = nil }
  }

  /// Calls VerifyStop or Release.
  ///
  /// - Returns: why the call failed; `nil` if it did not.
  @discardableResult func end(_ member: String, of device: String) -> FingerprintFailure? {
    do throws(FingerprintFailure) {
      sd_bus_message_unref(try send(member, owner, device, "Device", nil, within: Self.limitOfEnding))
      return nil
    } catch {
      return error
    }
  }

  /// Calls a method.
  ///
  /// - Parameter see: gets each message until the answer has come.
  /// - Returns: the answer.
  private func send(
    _ member: String, _ destination: String, _ path: String, _ interface: String, _ argument: String?,
    within limit: Duration = limit, _ see: (OpaquePointer?) throws(FingerprintFailure) -> Void = { _ in }
  ) throws(FingerprintFailure) -> OpaquePointer {
    var call: OpaquePointer?
    let interface = Self.name + "." + interface
    guard sd_bus_message_new_method_call(bus, &call, destination, path, interface, member) >= 0 else {
      throw .malformed
    }
    defer { sd_bus_message_unref(call) }
    if let argument {
      guard sd_bus_message_append_basic(call, CChar(UInt8(ascii: "s")), argument) >= 0 else { throw .malformed }
    }
    guard let sent = SystemBusCall(call, on: bus) else { throw .busEnded }
    let deadline = ContinuousClock.now + limit
    let reply = try wait(until: deadline, Cancellation()) { message throws(FingerprintFailure) in
      try see(message)
      return sent.takeAnswer()
    }
    guard sd_bus_message_is_method_error(reply, nil) == 0 else {
      defer { sd_bus_message_unref(reply) }
      throw FingerprintFailure(
        error: sd_bus_message_get_error(reply)?.pointee.name.map { String(cString: $0) } ?? "",
        hasAnswered: destination == owner)
    }
    return reply
  }

  // MARK: Signals

  /// Runs `body` while the bus delivers the reader's signals, and the signal that fprintd has ended.
  func receive<Answer>(
    from device: String, _ body: () throws(FingerprintFailure) -> Answer
  ) throws(FingerprintFailure) -> Answer {
    var slots = [OpaquePointer?](repeating: nil, count: 2)
    defer { for slot in slots { sd_bus_slot_unref(slot) } }
    let status =
      "type='signal',sender='\(owner)',interface='\(Self.name).Device',member='VerifyStatus',path='\(device)'"
    let end = "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='\(owner)'"
    guard sd_bus_add_match(bus, &slots[0], status, nil, nil) >= 0, sd_bus_add_match(bus, &slots[1], end, nil, nil) >= 0
    else { throw .busEnded }
    return try body()
  }

  /// Starts a verification, and waits for the signal VerifyStatus.
  ///
  /// The signal may come before the answer to VerifyStart.
  ///
  /// - Returns: the first argument of the signal.
  func verify(with device: String, _ cancellation: Cancellation) throws(FingerprintFailure) -> String {
    var early: String?
    let answer = try send("VerifyStart", owner, device, "Device", "any") { message throws(FingerprintFailure) in
      if early == nil { early = try status(in: message, of: device) }
    }
    sd_bus_message_unref(answer)
    if let early { return early }
    return try wait(until: nil, cancellation) { message throws(FingerprintFailure) in
      try status(in: message, of: device)
    }
  }

  /// The first argument of VerifyStatus; `nil` for another message.
  private func status(in message: OpaquePointer?, of device: String) throws(FingerprintFailure) -> String? {
    guard let message, let sender = sd_bus_message_get_sender(message).map({ String(cString: $0) }) else {
      return nil
    }
    if sender == "org.freedesktop.DBus", sd_bus_message_is_signal(message, sender, "NameOwnerChanged") > 0 {
      throw .fprintdEnded
    }
    // Any program can send a signal to this connection, so the sender must be fprintd.
    guard sender == owner, sd_bus_message_is_signal(message, Self.name + ".Device", "VerifyStatus") > 0,
      sd_bus_message_get_path(message).map({ String(cString: $0) }) == device
    else { return nil }
    var status: UnsafePointer<CChar>?
    guard sd_bus_message_read_basic(message, CChar(UInt8(ascii: "s")), &status) > 0, let status else {
      throw .malformed
    }
    return String(cString: status)
  }

  /// Processes messages until `judge` returns an answer.
  ///
  /// - Parameter judge: gets each message, and `nil` after a step without a message.
  private func wait<Answer>(
    until deadline: ContinuousClock.Instant?, _ cancellation: Cancellation,
    _ judge: (OpaquePointer?) throws(FingerprintFailure) -> Answer?
  ) throws(FingerprintFailure) -> Answer {
    while true {
      var message: OpaquePointer?
      let result = sd_bus_process(bus, &message)
      defer { sd_bus_message_unref(message) }
      guard result >= 0 else { throw .busEnded }
      if let answer = try judge(message) { return answer }
      if let deadline, deadline <= .now { throw .silent }
      // After a message, another one can be in memory already, so this does not wait. It still looks for a cancellation:
      // any program can send messages to this connection without a pause.
      let event = cancellation.wait(
        for: sd_bus_get_fd(bus), sd_bus_get_events(bus), until: result > 0 ? .now : deadline)
      if event == .cancelled { throw .cancelled }
    }
  }
}

extension FingerprintFailure {
  static let silent = Self.failed("fprintd did not answer; try again")
  static let fprintdEnded = Self.failed("fprintd ended before a finger was read; try again")
  static let inUse = Self.failed("another program uses the fingerprint reader; try again")
  static let malformed = Self.failed("fprintd sent an invalid answer")
  static let busEnded = Self.failed("the system bus has ended; start the authenticator again")
}
