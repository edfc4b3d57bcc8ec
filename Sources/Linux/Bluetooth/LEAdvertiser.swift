import CSystemd
import Logind
package import ProcessIO

/// An adapter of BlueZ that advertises, by `LEAdvertisingManager1` on the system bus.
///
/// It needs no root. It is used by one thread at a time.
package final class LEAdvertiser: @unchecked Sendable {
  private static let name = "org.bluez"
  private static let manager = "org.bluez.LEAdvertisingManager1"
  private static let adapter = "org.bluez.Adapter1"
  /// The object with the advert, on this connection.
  private static let object = "/com/liquidauth/hybrid"
  /// How long a call may take.
  private static let limit = Duration.seconds(10)
  /// How long the last call may take: the advert also ends when this program leaves the bus.
  private static let limitOfEnding = Duration.seconds(1)
  /// How often an advert that bluetoothd ends is renewed.
  private static let renewals = 5

  private let bus: OpaquePointer
  /// bluetoothd's unique name on the bus: no other program can take this name.
  private var owner = name
  /// The object of the adapter.
  private var path = ""

  /// Connects to the bus, and finds an adapter that can advertise now.
  package init() throws(BluetoothFailure) {
    guard let bus = SystemBus.connect(until: .now + Self.limit) else { throw .noBus }
    self.bus = bus
    path = try findAdapter()
  }

  // Without a flush, which would wait for a bus that does not answer; every call has waited for its own answer.
  deinit { sd_bus_close_unref(bus) }

  /// Advertises until the cancellation, and then withdraws the advert; blocks.
  ///
  /// bluetoothd 5.66 ignores the interval of an advert without its option `-E`, so none is asked for: the kernel's is
  /// 1.28 seconds. An advert that bluetoothd ends is registered again.
  ///
  /// - Parameters:
  ///   - data: the service data of 0xFFF9, at most 24 bytes.
  ///   - isConnectable: whether others may connect; then the advert can have the adapter's own address.
  ///   - begun: called once the advert is on the air.
  package func advertise(
    _ data: [UInt8], isConnectable: Bool, until cancellation: Cancellation, begun: () -> Void
  ) throws(BluetoothFailure) {
    let advert = Advert(data, isConnectable: isConnectable, of: owner)
    var slot: OpaquePointer?
    guard
      sd_bus_add_object(bus, &slot, Self.object, answerBluetoothd, Unmanaged.passUnretained(advert).toOpaque()) >= 0
    else { throw .busEnded }
    // bluetoothd can call the advert until then.
    defer { withExtendedLifetime(advert) { _ = sd_bus_slot_unref(slot) } }
    for round in 0...Self.renewals {
      // bluetoothd may have begun a registration whose answer nobody waits for any more.
      guard try register(cancellation) else { return withdraw() }
      if round == 0 { begun() }
      let isReleased = try wait(until: nil, cancellation) { advert.takeRelease() ? true : nil }
      guard isReleased == true else { return withdraw() }
    }
    throw .withdrawn
  }

  /// Withdraws the advert; if bluetoothd does not answer, the advert ends when this connection does.
  private func withdraw() {
    let reply = try? call(
      path, Self.manager, "UnregisterAdvertisement", within: Self.limitOfEnding, Cancellation()
    ) { sd_bus_message_append_basic($0, code("o"), Self.object) }
    sd_bus_message_unref(reply ?? nil)
  }

  /// Registers the advert; returns `false` if it was cancelled.
  private func register(_ cancellation: Cancellation) throws(BluetoothFailure) -> Bool {
    let reply = try call(path, Self.manager, "RegisterAdvertisement", within: Self.limit, cancellation) { message in
      let first = sd_bus_message_append_basic(message, code("o"), Self.object)
      guard first >= 0, sd_bus_message_open_container(message, code("a"), "{sv}") >= 0 else { return -1 }
      return sd_bus_message_close_container(message)
    }
    sd_bus_message_unref(reply)
    return reply != nil
  }

  // MARK: Adapters

  private func findAdapter() throws(BluetoothFailure) -> String {
    guard
      let reply = try call(
        "/", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", within: Self.limit, Cancellation(), { _ in 0 })
    else { throw .busEnded }
    defer { sd_bus_message_unref(reply) }
    if let sender = sd_bus_message_get_sender(reply) { owner = String(cString: sender) }
    let found = try Self.adapters(in: reply)
    if let ready = found.first(where: \.isOn) { return ready.path }
    // The last part of an adapter's path is its name.
    let names = found.map { String($0.path.split(separator: "/").last ?? "") }
    if BluetoothSwitch.isBlocked(names) { throw .blocked }
    throw found.isEmpty ? .noAdapter : .off
  }

  /// The adapters that can advertise, in a{oa{sa{sv}}}.
  private static func adapters(in reply: OpaquePointer) throws(BluetoothFailure) -> [(path: String, isOn: Bool)] {
    var found: [(path: String, isOn: Bool)] = []
    try each(in: reply, "{oa{sa{sv}}}", "oa{sa{sv}}") { () throws(BluetoothFailure) in
      let path = try text(in: reply, "o")
      var (advertises, isOn) = (false, false)
      try each(in: reply, "{sa{sv}}", "sa{sv}") { () throws(BluetoothFailure) in
        let interface = try text(in: reply, "s")
        if interface == manager { advertises = true }
        guard interface == adapter else { return try check(sd_bus_message_skip(reply, "a{sv}")) }
        try each(in: reply, "{sv}", "sv") { () throws(BluetoothFailure) in
          guard try text(in: reply, "s") == "Powered" else { return try check(sd_bus_message_skip(reply, "v")) }
          var value: Int32 = 0
          guard sd_bus_message_enter_container(reply, code("v"), "b") > 0,
            sd_bus_message_read_basic(reply, code("b"), &value) > 0
          else { throw .malformed }
          try check(sd_bus_message_exit_container(reply))
          isOn = value != 0
        }
      }
      if advertises { found.append((path, isOn)) }
    }
    return found
  }

  /// Reads each entry of a dictionary.
  private static func each(
    in reply: OpaquePointer, _ entry: String, _ contents: String, _ read: () throws(BluetoothFailure) -> Void
  ) throws(BluetoothFailure) {
    guard sd_bus_message_enter_container(reply, code("a"), entry) > 0 else { throw .malformed }
    while true {
      let isThere = sd_bus_message_enter_container(reply, code("e"), contents)
      try check(isThere)
      guard isThere > 0 else { break }
      try read()
      try check(sd_bus_message_exit_container(reply))
    }
    try check(sd_bus_message_exit_container(reply))
  }

  private static func text(in reply: OpaquePointer, _ type: Unicode.Scalar) throws(BluetoothFailure) -> String {
    var text: UnsafePointer<CChar>?
    guard sd_bus_message_read_basic(reply, code(type), &text) > 0, let text else { throw .malformed }
    return String(cString: text)
  }

  private static func check(_ result: Int32) throws(BluetoothFailure) {
    guard result >= 0 else { throw .malformed }
  }

  // MARK: Calls

  /// Calls a method of bluetoothd, which may call this connection before it answers.
  ///
  /// - Parameter fill: appends the arguments; returns a negative number if it cannot.
  /// - Returns: the answer, which the caller releases; `nil` after a cancellation.
  private func call(
    _ path: String, _ interface: String, _ member: String, within limit: Duration, _ cancellation: Cancellation,
    _ fill: (OpaquePointer) -> Int32
  ) throws(BluetoothFailure) -> OpaquePointer? {
    var message: OpaquePointer?
    guard sd_bus_message_new_method_call(bus, &message, owner, path, interface, member) >= 0, let message else {
      throw .malformed
    }
    defer { sd_bus_message_unref(message) }
    guard fill(message) >= 0 else { throw .malformed }
    guard let sent = SystemBusCall(message, on: bus) else { throw .busEnded }
    guard let reply = try wait(until: .now + limit, cancellation, { sent.takeAnswer() }) else { return nil }
    guard sd_bus_message_is_method_error(reply, nil) == 0 else {
      defer { sd_bus_message_unref(reply) }
      throw BluetoothFailure(error: sd_bus_message_get_error(reply)?.pointee.name.map { String(cString: $0) } ?? "")
    }
    return reply
  }

  /// Processes messages until `judge` returns an answer; `nil` after a cancellation.
  private func wait<Answer>(
    until deadline: ContinuousClock.Instant?, _ cancellation: Cancellation, _ judge: () -> Answer?
  ) throws(BluetoothFailure) -> Answer? {
    while true {
      let result = sd_bus_process(bus, nil)
      guard result >= 0 else { throw .busEnded }
      if let answer = judge() { return answer }
      if let deadline, deadline <= .now { throw .silent }
      // After a message, another one can be in memory already, so this does not wait.
      let event = cancellation.wait(
        for: sd_bus_get_fd(bus), sd_bus_get_events(bus), until: result > 0 ? .now : deadline)
      if event == .cancelled { return nil }
    }
  }
}

extension BluetoothFailure {
  /// The failure for an error of D-Bus.
  fileprivate init(error name: String) {
    switch name {
    case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner": self = .noBluetoothd
    case _ where name.hasPrefix("org.freedesktop.DBus.Error.Spawn."): self = .noBluetoothd
    case "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.Timeout": self = .silent
    case "org.bluez.Error.NotPermitted": self = .inUse
    case "org.bluez.Error.NotReady": self = .off
    default: self = .refused(name: name)
    }
  }
}

// MARK: - What bluetoothd calls

/// The advert, an object of the interface `LEAdvertisement1`.
private final class Advert {
  static let interface = "org.bluez.LEAdvertisement1"
  /// After which bluetoothd ends the advert by itself, seconds; ours ends earlier.
  private static let timeout: UInt16 = 120
  /// 0xFFF9 as UUID: FIDO's service for hybrid transports.
  private static let service = "0000fff9-0000-1000-8000-00805f9b34fb"

  private let data: [UInt8]
  private let isConnectable: Bool
  private let owner: String
  private var isReleased = false

  init(_ data: [UInt8], isConnectable: Bool, of owner: String) {
    (self.data, self.isConnectable, self.owner) = (data, isConnectable, owner)
  }

  /// Whether bluetoothd has ended the advert since the last call.
  func takeRelease() -> Bool {
    defer { isReleased = false }
    return isReleased
  }

  /// Answers a call; returns 0 to let sd-bus answer that there is no such method.
  func answer(_ call: OpaquePointer) -> Int32 {
    // Any program of root can call this connection.
    guard sd_bus_message_get_sender(call).map({ String(cString: $0) }) == owner else { return 0 }
    let properties = "org.freedesktop.DBus.Properties"
    if sd_bus_message_is_method_call(call, Self.interface, "Release") > 0 {
      isReleased = true
      return reply(to: call) { _ in 0 }
    }
    guard sd_bus_message_is_method_call(call, properties, "GetAll") > 0 else { return 0 }
    return reply(to: call, fill)
  }

  private func reply(to call: OpaquePointer, _ fill: (OpaquePointer) -> Int32) -> Int32 {
    var reply: OpaquePointer?
    let made = sd_bus_message_new_method_return(call, &reply)
    guard made >= 0, let reply else { return made }
    defer { sd_bus_message_unref(reply) }
    let filled = fill(reply)
    guard filled >= 0 else { return filled }
    let sent = sd_bus_send(sd_bus_message_get_bus(call), reply, nil)
    return sent < 0 ? sent : 1
  }

  /// {Type, ServiceData: {UUID: data}, Timeout}: with the type "broadcast" no flags are sent, and nobody can connect.
  ///
  /// If the adapter is discoverable, the kernel makes the advert connectable all the same.
  private func fill(_ reply: OpaquePointer) -> Int32 {
    var timeout = Self.timeout
    let type = isConnectable ? "peripheral" : "broadcast"
    let steps: [() -> Int32] = [
      { sd_bus_message_open_container(reply, code("a"), "{sv}") },
      { self.property(reply, "Type", "s") { sd_bus_message_append_basic(reply, code("s"), type) } },
      { self.property(reply, "ServiceData", "a{sv}") { self.serviceData(reply) } },
      { self.property(reply, "Timeout", "q") { sd_bus_message_append_basic(reply, code("q"), &timeout) } },
      { sd_bus_message_close_container(reply) },
    ]
    return Self.run(steps)
  }

  private func serviceData(_ reply: OpaquePointer) -> Int32 {
    let steps: [() -> Int32] = [
      { sd_bus_message_open_container(reply, code("a"), "{sv}") },
      {
        self.property(reply, Self.service, "ay") {
          self.data.withUnsafeBytes { sd_bus_message_append_array(reply, code("y"), $0.baseAddress, $0.count) }
        }
      },
      { sd_bus_message_close_container(reply) },
    ]
    return Self.run(steps)
  }

  /// Appends an entry of a{sv}.
  private func property(
    _ reply: OpaquePointer, _ name: String, _ type: String, _ value: @escaping () -> Int32
  ) -> Int32 {
    let steps: [() -> Int32] = [
      { sd_bus_message_open_container(reply, code("e"), "sv") },
      { sd_bus_message_append_basic(reply, code("s"), name) },
      { sd_bus_message_open_container(reply, code("v"), type) }, value,
      { sd_bus_message_close_container(reply) }, { sd_bus_message_close_container(reply) },
    ]
    return Self.run(steps)
  }

  /// Takes the steps in order; returns the result of the first that fails.
  private static func run(_ steps: [() -> Int32]) -> Int32 {
    for step in steps {
      let result = step()
      if result < 0 { return result }
    }
    return 0
  }
}

private func answerBluetoothd(
  _ message: OpaquePointer?, _ advert: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<sd_bus_error>?
) -> Int32 {
  guard let message, let advert else { return 0 }
  return Unmanaged<Advert>.fromOpaque(advert).takeUnretainedValue().answer(message)
}

/// The code of a type of D-Bus.
private func code(_ type: Unicode.Scalar) -> CChar { CChar(UInt8(ascii: type)) }
