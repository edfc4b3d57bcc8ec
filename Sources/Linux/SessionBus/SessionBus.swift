import CSystemd
import Glibc

/// The error type of a program that uses the session bus, with texts of its own.
package protocol SessionBusFailure: Error {
  init(_ fault: SessionBusFault)
}

/// Why a call, or a wait for a signal, failed.
package enum SessionBusFault: Equatable, Sendable {
  /// There is no session bus.
  case noBus
  /// No program offers the service, and the bus can start none.
  case noService
  /// The service ended, or did not answer.
  case noAnswer
  /// The service refused with this error of D-Bus, whose words come from another program and are not passed on.
  case refused(name: String)
  /// A message cannot be written, or is not as specified.
  case malformed
  /// The bus has ended, or did not answer.
  case busEnded
  /// The deadline came.
  case timedOut
  /// The program that asked has ended, or no longer waits.
  case cancelled
}

/// The session bus, and calls to one service on it.
package final class SessionBus<Failure: SessionBusFailure> {
  package typealias Message = BusMessage<Failure>

  private let bus: OpaquePointer
  private var service: String
  private let deadline: ContinuousClock.Instant
  private let input: Int32

  /// How long the bus itself may take to accept the connection, and to answer a call: systemd may have to start the bus.
  private static var busLimit: Duration { .seconds(5) }

  /// Connects to the bus; all calls and waits end at `deadline`.
  ///
  /// - Parameter input: a descriptor. If it becomes readable or is closed, waits end: the program that asked has ended.
  /// - Throws: `noBus`; `busEnded` if the bus does not answer within 5 s; `cancelled` when `input` ends.
  package init(
    service: String, until deadline: ContinuousClock.Instant, orEndOf input: Int32 = STDIN_FILENO
  ) throws(Failure) {
    var bus: OpaquePointer?
    guard sd_bus_open_user(&bus) >= 0, let bus else { throw Failure(.noBus) }
    (self.bus, self.service, self.deadline, self.input) = (bus, service, deadline, input)
    // The limit of the calls that sd_bus_add_match(3) makes.
    sd_bus_set_method_call_timeout(bus, UInt64(Self.busLimit.components.seconds) * 1_000_000)
    let limit = min(deadline, .now + Self.busLimit)
    // Wait here, because sd_bus_call(3) waits without a limit until the bus has accepted the connection.
    while sd_bus_is_ready(bus) <= 0 {
      let result = sd_bus_process(bus, nil)
      guard result >= 0 else { throw Failure(.busEnded) }
      if result == 0, try !pause(until: limit) { throw Failure(.busEnded) }
    }
  }

  // No flush: it has no time limit, and nothing is left to send, because all calls wait for their replies.
  deinit { sd_bus_close_unref(bus) }

  /// Calls a method; `fill` appends its arguments.
  ///
  /// - Parameters:
  ///   - limit: how long the call may take. A call that waits for the user needs more than the default.
  ///   - startsService: whether the bus starts the service if it does not run.
  package func call(
    _ path: String, _ interface: String, _ member: String, within limit: Duration = .seconds(25),
    startsService: Bool = true, _ fill: (Message) throws(Failure) -> Void = { (_) throws(Failure) in }
  ) throws(Failure) -> Message {
    try call(service, path, interface, member, within: limit, startsService, fill)
  }

  private func call(
    _ destination: String, _ path: String, _ interface: String, _ member: String, within limit: Duration,
    _ startsService: Bool, _ fill: (Message) throws(Failure) -> Void
  ) throws(Failure) -> Message {
    var raw: OpaquePointer?
    guard sd_bus_message_new_method_call(bus, &raw, destination, path, interface, member) >= 0, let raw else {
      throw Failure(.malformed)
    }
    let call = Message(owning: raw)
    sd_bus_message_set_auto_start(raw, startsService ? 1 : 0)
    try fill(call)
    var (error, reply) = (sd_bus_error(), OpaquePointer?.none)
    defer { sd_bus_error_free(&error) }
    let limit = min(deadline - .now, limit).components
    guard limit.seconds >= 0, limit.attoseconds >= 0 else { throw Failure(.timedOut) }
    let microseconds = UInt64(limit.seconds) * 1_000_000 + UInt64(limit.attoseconds / 1_000_000_000_000) + 1
    guard sd_bus_call(bus, raw, microseconds, &error, &reply) >= 0, let reply else {
      throw Failure(Self.fault(error.name.map { String(cString: $0) } ?? ""))
    }
    return Message(owning: reply)
  }

  private static func fault(_ name: String) -> SessionBusFault {
    let errors = "org.freedesktop.DBus.Error."
    if name == errors + "ServiceUnknown" || name == errors + "NameHasNoOwner" || name.hasPrefix(errors + "Spawn.") {
      return .noService
    }
    let silent = ["NoReply", "Timeout", "TimedOut", "Disconnected"].map { errors + $0 }
    return silent.contains(name) ? .noAnswer : .refused(name: name)
  }

  /// Whether the bus can start the service (ListActivatableNames).
  package func canStartService() throws(Failure) -> Bool {
    let (bus, path, member) = (Self.busName, "/org/freedesktop/DBus", "ListActivatableNames")
    let reply = try call(bus, path, bus, member, within: Self.busLimit, false) { (_) throws(Failure) in }
    return try reply.texts("s").contains(service)
  }

  /// Sends all later calls to the program that sent `reply`, even if another program takes the name of the service.
  ///
  /// - Returns: the unique name of the program on the bus.
  package func pin(to reply: Message) throws(Failure) -> String {
    guard let sender = reply.sender else { throw Failure(.malformed) }
    service = sender
    return sender
  }

  /// Makes the bus deliver signals that the match rule describes: dbus-daemon(1).
  package func subscribe(_ rule: String) throws(Failure) {
    let result = sd_bus_add_match(bus, nil, rule, nil, nil)
    guard result >= 0 else { throw Failure(result == -EINVAL ? .malformed : .busEnded) }
  }

  /// The bus's own name, the sender of NameOwnerChanged.
  package static var busName: String { "org.freedesktop.DBus" }

  /// Makes the bus send NameOwnerChanged when the program with this unique name ends.
  package func subscribeToEnd(of name: String) throws(Failure) {
    try subscribe("type='signal',sender='\(Self.busName)',member='NameOwnerChanged',arg0='\(name)'")
  }

  /// Waits until `judge` returns an answer for a message.
  ///
  /// - Throws: `timedOut` at the deadline; `cancelled` when `input` ends, because the program that asked has ended;
  ///   `busEnded`.
  package func wait<Answer>(_ judge: (Message) throws(Failure) -> Answer?) throws(Failure) -> Answer {
    while true {
      var message: OpaquePointer?
      let result = sd_bus_process(bus, &message)
      guard result >= 0 else { throw Failure(.busEnded) }
      if let message {
        if let answer = try judge(Message(owning: message)) { return answer }
        continue
      }
      if result == 0, try !pause(until: deadline) { throw Failure(.timedOut) }
    }
  }

  /// Waits until the bus has something to read or write, or a signal arrives.
  ///
  /// - Returns: false if the deadline has passed.
  /// - Throws: `cancelled` when ``input`` ends.
  private func pause(until deadline: ContinuousClock.Instant) throws(Failure) -> Bool {
    let rest = (deadline - .now).components
    guard rest.seconds >= 0, rest.attoseconds >= 0 else { return false }
    var ready = [
      pollfd(fd: sd_bus_get_fd(bus), events: Int16(truncatingIfNeeded: sd_bus_get_events(bus)), revents: 0),
      pollfd(fd: input, events: Int16(POLLIN), revents: 0),
    ]
    poll(&ready, 2, Int32(clamping: rest.seconds * 1000 + rest.attoseconds / 1_000_000_000_000_000 + 1))
    if ready[1].revents != 0 { throw Failure(.cancelled) }
    return true
  }
}
