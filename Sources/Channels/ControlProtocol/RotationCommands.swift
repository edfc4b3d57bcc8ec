package import CBOR
package import CryptoPrimitives
package import Recovery

// The owner's commands for the move to a new phrase (Recovery §14); they need the vault's passphrase on the connection.

/// Begins the move to a new phrase, and locks the vault: {0: mainKey (64) ‖ ed25519Root (96)}.
package struct BeginRotation: SecretCommand {
  package static let code: UInt8 = 0x78
  /// The sizes of the main key and of both secrets, bytes.
  package static let mainKeySize = 64
  package static let size = 160

  package var secret: SecretBytes
  package init(_ secret: SecretBytes) { self.secret = secret }

  package init(mainKey: SecretBytes, ed25519Root: SecretBytes) {
    secret = SecretBytes(mainKey, ed25519Root)
  }

  /// The two secrets.
  ///
  /// - Throws: `invalidLength` unless there are 160 bytes.
  package func parts() throws(ControlFailure) -> (mainKey: SecretBytes, ed25519Root: SecretBytes) {
    guard secret.count == Self.size else {
      throw ControlFailure(.invalidLength, "the secrets of a phrase have \(Self.size) bytes, not \(secret.count)")
    }
    return secret.parted(at: Self.mainKeySize)
  }
}

/// A page of the keys of the previous phrase: {1: start?}.
package struct ListRotation: ControlCommand {
  package static let code: UInt8 = 0x79
  /// 0, or `next` of the previous page.
  package var start: UInt64

  package init(start: UInt64 = 0) { self.start = start }
  package init(_ members: CBORMap) throws(ControlFailure) { start = try decoded(members.optionalUnsigned(1)) ?? 0 }
  package var members: CBORMap { [1: .unsigned(start)] }

  /// {1: [entry …], 2: next?, 3: fingerprint of the previous phrase (4), 4: fault of a history?}.
  package struct Answer: ControlAnswer, Equatable {
    /// By site.
    package var entries: [RotationEntry]
    /// Where the next page starts; `nil` on the last one.
    package var next: UInt64?
    /// Identifies the previous phrase, 4 bytes.
    package var fingerprint: [UInt8]
    /// Why keys can be missing; `nil` if the histories are whole.
    package var historyFault: String?

    /// Takes as many entries as fit into one message, at least one.
    package init(of all: [RotationEntry], start: UInt64, fingerprint: [UInt8], historyFault: String? = nil) {
      let first = Int(clamping: start)
      var size = 64 + (historyFault?.utf8.count ?? 0)
      let page = all.dropFirst(first).prefix { entry in
        size += CBOREncoder.encode(.map(entry.members)).count
        return size <= ControlMessage.maximumSize
      }
      let end = first + page.count
      (entries, self.fingerprint, self.historyFault) = (Array(page), fingerprint, historyFault)
      next = page.isEmpty || end >= all.count ? nil : UInt64(end)
    }

    package init(_ members: CBORMap) throws(ControlFailure) {
      entries = []
      for element in try decoded(members.requiredArray(1)) {
        guard let map = element.map else { throw ControlFailure(.unexpectedType, "a key is not a map") }
        entries.append(try RotationEntry(map))
      }
      next = try decoded(members.optionalUnsigned(2))
      fingerprint = try decoded(members.requiredBytes(3))
      historyFault = try decoded(members.optionalText(4))
    }

    package var members: CBORMap {
      CBORMap(present: [
        1: .array(entries.map { .map($0.members) }), 2: next.map(CBORValue.unsigned), 3: .bytes(fingerprint),
        4: historyFault.map(CBORValue.text),
      ])
    }
  }
}

extension RotationEntry {
  /// {1: site?, 2: state, 3: name?, 4: other keys before?, 5: other keys since?}; a passkey has neither 4 nor 5.
  init(_ members: CBORMap) throws(ControlFailure) {
    let number = try members.requiredInteger(2, as: UInt8.self)
    guard let state = State(rawValue: number) else {
      throw ControlFailure(.invalidParameter, "no such state of a key: \(number)")
    }
    let before = try members.integer(4, as: UInt32.self)
    let key: Key =
      if let before {
        .others(before: Int(before), since: Int(try members.requiredInteger(5, as: UInt32.self)))
      } else {
        .passkey(name: try decoded(members.optionalText(3)))
      }
    self.init(site: try decoded(members.optionalText(1)), key: key, state: state)
  }

  var members: CBORMap {
    var members = CBORMap(present: [1: site.map(CBORValue.text), 2: .number(state.rawValue)])
    switch key {
    case .passkey(let name): members[3] = name.map(CBORValue.text)
    case .others(let before, let since):
      members[4] = .number(UInt32(clamping: before))
      members[5] = .number(UInt32(clamping: since))
    }
    return members
  }
}

/// Gives up the keys of the previous phrase at sites: {1: [site …], 2: U2F?}; all or none.
package struct GiveUpSites: ControlCommand, Equatable {
  package static let code: UInt8 = 0x7A
  package static let maximumRequestSize = ControlMessage.maximumSize
  /// The most sites of one request.
  package static let maximumCount = 500

  package var sites: [String]
  /// Whether the keys of U2F are given up, which name no site.
  package var isOfU2F: Bool

  package init(_ sites: [String], isOfU2F: Bool = false) { (self.sites, self.isOfU2F) = (sites, isOfU2F) }

  package init(_ members: CBORMap) throws(ControlFailure) {
    sites = try members.texts(1, "a site")
    isOfU2F = try decoded(members.optionalBool(2)) ?? false
    guard !sites.isEmpty || isOfU2F else { throw ControlFailure(.missingParameter, "give a site") }
    guard sites.count <= Self.maximumCount else {
      throw ControlFailure(.invalidLength, "at most \(Self.maximumCount) sites are given up at once")
    }
  }

  package var members: CBORMap { CBORMap(present: [1: .texts(sites), 2: isOfU2F ? true : nil]) }

  /// The sites as the history has them; `nil` is U2F.
  package var all: [String?] { sites + (isOfU2F ? [nil] : []) }
}

/// Ends the move to a new phrase, removes the previous phrase and its store, and locks the vault: {1: acceptsHistory?}.
package struct EndRotation: ControlCommand, Equatable {
  package static let code: UInt8 = 0x7B
  /// Whether the move ends although a history was modified, so that keys can be missing from the list.
  package var acceptsHistory: Bool

  package init(acceptsHistory: Bool = false) { self.acceptsHistory = acceptsHistory }

  package init(_ members: CBORMap) throws(ControlFailure) {
    acceptsHistory = try decoded(members.optionalBool(1)) ?? false
  }

  package var members: CBORMap { CBORMap(present: [1: acceptsHistory ? true : nil]) }
}

// MARK: - A wallet's requests

/// The addresses of the account in use, of both phrases, during the move to a new phrase.
package struct GetRekeying: PlainCommand {
  package static let code: UInt8 = 0x7C
  package init() {}

  /// {1: of the previous phrase, 2: of the present phrase}, 58 characters each.
  package struct Answer: ControlAnswer, Equatable {
    package var previous: String
    package var present: String

    package init(previous: String, present: String) { (self.previous, self.present) = (previous, present) }

    package init(_ members: CBORMap) throws(ControlFailure) {
      previous = try decoded(members.requiredText(1))
      present = try decoded(members.requiredText(2))
    }

    package var members: CBORMap { [1: .text(previous), 2: .text(present)] }
  }
}

/// Shows the transaction that gives an account to that of the present phrase, and signs it with the account of the
/// previous phrase if the person agrees: {1: transaction}.
///
/// The sender is the account of the previous phrase, or another one that it controls. Every other transaction is refused.
package struct SignRekeying: ControlCommand, Hashable {
  package typealias Answer = WalletSignature
  package static let code: UInt8 = 0x7D
  /// Canonical msgpack, without the prefix "TX".
  package var transaction: [UInt8]

  package init(_ transaction: [UInt8]) { self.transaction = transaction }
  package init(_ members: CBORMap) throws(ControlFailure) { transaction = try decoded(members.requiredBytes(1)) }
  package var members: CBORMap { [1: .bytes(transaction)] }
}
