import CryptoPrimitives
import Glibc
import ProtectorProtocol
package import SessionBus

/// The key of one slot in the keyring of the user's session.
///
/// https://specifications.freedesktop.org/secret-service-spec/ is the interface of the keyring.
///
/// The session with the keyring uses the algorithm "plain": the session bus belongs to the user, and every program that
/// can read it can ask the keyring for the key, too.
struct SecretService: KeyKeeper {
  /// Type 4 of Recovery §1.
  static let slotType: UInt8 = 4
  static let idSize = 16

  private static let interface = "org.freedesktop.Secret."
  private static let path = "/org/freedesktop/secrets"
  /// The path that stands for no object.
  private static let none = "/"

  private let bus: SessionBus<ProtectorFailure>
  /// The keyring's own name on the bus.
  private let keyring: String
  /// The session with the keyring.
  private let session: String
  /// What identifies the item.
  private let attributes: [(name: String, value: String)]

  /// Connects to the keyring, which the bus starts if it does not run.
  init(id: [UInt8], until deadline: ContinuousClock.Instant) throws(ProtectorFailure) {
    let bus = try SessionBus<ProtectorFailure>(service: "org.freedesktop.secrets", until: deadline)
    let reply = try bus.call(Self.path, Self.interface + "Service", "OpenSession") { call throws(ProtectorFailure) in
      try call.append("plain")
      try call.append("v", of: "s") { () throws(ProtectorFailure) in try call.append("") }
    }
    try reply.skip("v")
    session = try reply.text("o")
    keyring = try bus.pin(to: reply)
    let digits = Array("0123456789abcdef")
    attributes = [
      ("application", "liquid-auth"), ("vault", String(id.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })),
    ]
    self.bus = bus
  }

  /// Makes a random key of `count` bytes, and an item with it in the default keyring.
  func make(count: Int) throws(ProtectorFailure) -> (key: SecretBytes, data: [UInt8]) {
    let key = SecretBytes.random(count: count)
    try store(key)
    // A prompt's answer comes as a signal, and another program may have ended it.
    guard try self.key(count: count).isEqual(to: key) else {
      throw ProtectorFailure(.failed, "the keyring did not keep the key", hint: "try again")
    }
    return (key, [])
  }

  private func store(_ key: SecretBytes) throws(ProtectorFailure) {
    let collection = try defaultCollection()
    try unlock([collection])
    let reply = try bus.call(collection, Self.interface + "Collection", "CreateItem") { call throws(ProtectorFailure) in
      try call.append("a", of: "{sv}") { () throws(ProtectorFailure) in
        try call.append("e", of: "sv") { () throws(ProtectorFailure) in
          try call.append(Self.interface + "Item.Label")
          try call.append("v", of: "s") { () throws(ProtectorFailure) in
            try call.append(ProtectorRequest.keyringLabel)
          }
        }
        try call.append("e", of: "sv") { () throws(ProtectorFailure) in
          try call.append(Self.interface + "Item.Attributes")
          try call.append("v", of: "a{ss}") { () throws(ProtectorFailure) in try append(attributes, to: call) }
        }
      }
      try call.append("r", of: "oayays") { () throws(ProtectorFailure) in
        try call.append(session, "o")
        try call.append(UnsafeRawBufferPointer(start: nil, count: 0))
        try key.withUnsafeBytes { (bytes) throws(ProtectorFailure) in try call.append(bytes) }
        try call.append("application/octet-stream")
      }
      try call.append(true)
    }
    _ = try reply.text("o")
    try finish(reply.text("o"))
  }

  /// The key, `count` bytes.
  func key(count: Int) throws(ProtectorFailure) -> SecretBytes {
    let reply = try bus.call(item(), Self.interface + "Item", "GetSecret") { [session] call throws(ProtectorFailure) in
      try call.append(session, "o")
    }
    try reply.enter("r", of: "oayays")
    try reply.skip("oay")
    return try reply.withBytes { bytes throws(ProtectorFailure) in
      guard bytes.count == count else {
        throw ProtectorFailure(
          .failed, "the keyring's item is not a key of this program", hint: "remove the slot, and add it again")
      }
      return SecretBytes(copying: bytes)
    }
  }

  /// Deletes the item.
  func delete() throws(ProtectorFailure) {
    try finish(bus.call(item(), Self.interface + "Item", "Delete").text("o"))
  }

  // MARK: Items and keyrings

  /// The item, unlocked.
  private func item() throws(ProtectorFailure) -> String {
    // A keyring that is closed may hide its items.
    if let item = try unlockedItem() { return item }
    try unlock([defaultCollection()])
    if let item = try unlockedItem() { return item }
    throw ProtectorFailure(.absent, "the keyring has no key for this slot", hint: "remove the slot, and add it again")
  }

  private func unlockedItem() throws(ProtectorFailure) -> String? {
    let reply = try bus.call(Self.path, Self.interface + "Service", "SearchItems") { call throws(ProtectorFailure) in
      try append(attributes, to: call)
    }
    if let item = try reply.texts("o").first { return item }
    guard let item = try reply.texts("o").first else { return nil }
    try unlock([item])
    return item
  }

  private func defaultCollection() throws(ProtectorFailure) -> String {
    let reply = try bus.call(Self.path, Self.interface + "Service", "ReadAlias") { call throws(ProtectorFailure) in
      try call.append("default")
    }
    let collection = try reply.text("o")
    guard collection != Self.none else {
      throw ProtectorFailure(.absent, "there is no default keyring", hint: "make one in your password manager")
    }
    return collection
  }

  /// Unlocks keyrings or items; the keyring may ask the person.
  private func unlock(_ objects: [String]) throws(ProtectorFailure) {
    let reply = try bus.call(Self.path, Self.interface + "Service", "Unlock") { call throws(ProtectorFailure) in
      try call.append("a", of: "o") { () throws(ProtectorFailure) in
        for object in objects { try call.append(object, "o") }
      }
    }
    _ = try reply.texts("o")
    try finish(reply.text("o"))
  }

  private func append(_ attributes: [(name: String, value: String)], to call: BusMessage<ProtectorFailure>)
    throws(ProtectorFailure)
  {
    try call.append("a", of: "{ss}") { () throws(ProtectorFailure) in
      for (name, value) in attributes {
        try call.append("e", of: "ss") { () throws(ProtectorFailure) in
          try call.append(name)
          try call.append(value)
        }
      }
    }
  }

  // MARK: Prompts

  /// Shows the keyring's prompt, if there is one, and waits for the person.
  private func finish(_ prompt: String) throws(ProtectorFailure) {
    guard prompt != Self.none else { return }
    let prompts = Self.interface + "Prompt"
    try bus.subscribe("type='signal',sender='\(keyring)',interface='\(prompts)',member='Completed',path='\(prompt)'")
    let dbus = SessionBus<ProtectorFailure>.busName
    try bus.subscribeToEnd(of: keyring)
    _ = try bus.call(prompt, prompts, "Prompt") { call throws(ProtectorFailure) in try call.append("") }
    let isDismissed: Bool
    do throws(ProtectorFailure) {
      isDismissed = try bus.wait { signal throws(ProtectorFailure) in
        if signal.isSignal(dbus, "NameOwnerChanged", of: dbus) {
          throw ProtectorFailure(.failed, "the keyring ended before it was unlocked", hint: "try again")
        }
        guard signal.isSignal(prompts, "Completed", of: keyring), signal.path == prompt else { return nil }
        return try signal.truth()
      }
    } catch {
      // Nobody waits for the person any more.
      _ = try? bus.call(prompt, prompts, "Dismiss")
      throw error
    }
    if isDismissed { throw .dismissed }
  }
}

extension ProtectorFailure: SessionBusFailure {
  package init(_ fault: SessionBusFault) {
    switch fault {
    case .noBus:
      self.init(
        .noService,
        "there is no session bus, so no keyring can be reached",
        hint: "log in to a desktop, and try again; the passphrase still unlocks the vault")
    case .noService:
      self.init(
        .noService, "no keyring runs (Secret Service)", hint: "start GNOME Keyring, KWallet or KeePassXC, and try again"
      )
    case .refused("org.freedesktop.Secret.Error.IsLocked"): self = .dismissed
    case .noAnswer: self.init(.failed, "the keyring ended or did not answer", hint: "try again")
    case .refused(let name): self.init(.failed, "the keyring refused: \(name.isEmpty ? "it gave no reason" : name)")
    case .malformed: self.init(.failed, "the keyring did not answer as a Secret Service does")
    case .busEnded: self.init(.failed, "the session bus ended or did not answer", hint: "log in again")
    case .timedOut: self.init(.failed, "the keyring was not unlocked in time", hint: "unlock it, and try again")
    case .cancelled: self.init(.failed, "it was cancelled")
    }
  }

  static let dismissed = ProtectorFailure(
    .dismissed, "the keyring is locked, and was not unlocked", hint: "unlock it, and try again")
}
