import CBOR
public import CryptoPrimitives

/// What a dApp's server gave this machine at a sign-in, so that later connections need none: its "durable pairing",
/// version 2, in the role of the controller.
///
/// The credential is a bearer token of that server, like a cookie: the server can revoke it, and it opens nothing else.
public struct Pairing: Sendable, Equatable {
  /// The origin of the server, `https://host[:port]`.
  public var origin: String
  /// The path below which the server is, such as `/auth`; empty for the root.
  public var path: String
  /// The relying party of the passkey that signed in.
  public var rpID: String
  /// The public id of the pairing, which is the dApp's request.
  public var id: String
  /// The token.
  public var credential: SecretBytes

  /// Makes a pairing; ``Pairings/check(_:)`` and ``Pairings/keep(_:)`` check it.
  public init(origin: String, path: String = "", rpID: String, id: String, credential: SecretBytes) {
    (self.origin, self.path, self.rpID, self.id, self.credential) = (origin, path, rpID, id, credential)
  }
}

/// The pairings with dApps that the user wants to keep, a part of the store's state row (Recovery §6).
///
/// They are local to this machine: no backup and no other machine has them.
public struct Pairings: Sendable, Equatable {
  /// The most pairings; one more replaces the oldest.
  public static let maximumCount = 100
  /// The most bytes of an origin, and of an rp.id.
  public static let maximumNameSize = 300
  /// The most bytes of a path.
  public static let maximumPathSize = 255
  /// The most bytes of an id: the limit of `liquid` (Recovery §11).
  public static let maximumIDSize = 128
  /// The most bytes of a credential.
  public static let maximumCredentialSize = 1024

  /// The oldest first.
  public private(set) var all: [Pairing] = []

  /// The pairings of a new store: none.
  public init() {}

  /// Checks the limits of a pairing.
  ///
  /// - Throws: `pairing` for one that is not within them.
  public static func check(_ pairing: Pairing) throws(RecoveryError) {
    guard isName(pairing.origin), isPath(pairing.path), isName(pairing.rpID),
      1...maximumIDSize ~= pairing.id.utf8.count, 1...maximumCredentialSize ~= pairing.credential.count
    else { throw RecoveryError(.pairing, "a part of the pairing is empty or too long, or is not visible ASCII") }
  }

  /// Keeps a pairing, in the place of the one with the same server.
  ///
  /// - Throws: `pairing` for one that is not within the limits.
  public mutating func keep(_ pairing: Pairing) throws(RecoveryError) {
    try Self.check(pairing)
    all.removeAll { $0.origin.utf8.elementsEqual(pairing.origin.utf8) }
    if oldestIfFull != nil { all.removeFirst() }
    all.append(pairing)
  }

  /// The pairing that goes when ``keep(_:)`` gets one with a new server; `nil` while there is room.
  public var oldestIfFull: Pairing? { all.count == Self.maximumCount ? all.first : nil }

  private static func isName(_ name: String) -> Bool {
    1...maximumNameSize ~= name.utf8.count && name.utf8.allSatisfy { 0x21...0x7E ~= $0 }
  }

  /// Nothing, or a slash and visible ASCII, so that the origin before it stays what it is.
  private static func isPath(_ path: String) -> Bool {
    path.isEmpty
      || path.utf8.count <= maximumPathSize && path.utf8.first == UInt8(ascii: "/")
        && path.utf8.allSatisfy { 0x21...0x7E ~= $0 }
  }

  /// The newest pairing with a site: an origin, the host of one, or an rp.id.
  public func pairing(with site: String) -> Pairing? {
    all.last { pairing in
      [pairing.origin, pairing.host, pairing.rpID].contains { $0.utf8.elementsEqual(site.utf8) }
    }
  }

  /// The pairings of a relying party.
  public func pairings(ofRelyingParty rpID: String) -> [Pairing] {
    all.filter { $0.rpID.utf8.elementsEqual(rpID.utf8) }
  }

  /// Forgets the pairings of a relying party, as its last passkey is removed.
  public mutating func forget(rpID: String) { all.removeAll { $0.rpID.utf8.elementsEqual(rpID.utf8) } }

  /// Forgets the pairings of relying parties that have no passkey any more, as after a merge.
  ///
  /// - Parameter hasPasskey: whether the store has a passkey of a relying party.
  /// - Returns: whether there were any.
  @discardableResult
  package mutating func forget<Failure>(
    unless hasPasskey: (_ rpIDHash: RPIDHash) throws(Failure) -> Bool
  ) throws(Failure) -> Bool {
    var kept: [Pairing] = []
    for pairing in all {
      if try hasPasskey(RPIDHash(rpID: pairing.rpID)) { kept.append(pairing) }
    }
    let isForgotten = kept.count < all.count
    all = kept
    return isForgotten
  }
}

extension Pairing {
  /// Whether the relying party is the host of the origin, or a domain above it (WebAuthn §5.1.3).
  ///
  /// A pairing is found, listed and forgotten by its relying party.
  public var isOfRelyingParty: Bool {
    var name = host.utf8[...]
    // A colon within brackets is part of an address.
    if let colon = name.lastIndex(of: UInt8(ascii: ":")), !name[colon...].contains(UInt8(ascii: "]")) {
      name = name[..<colon]
    }
    return name.elementsEqual(rpID.utf8) || name.reversed().starts(with: ".\(rpID)".utf8.reversed())
  }

  /// The host of the origin, with the port if there is one.
  fileprivate var host: String {
    let authority = origin.utf8.drop { $0 != UInt8(ascii: "/") }.dropFirst(2)
    return String(decoding: authority, as: UTF8.self)
  }
}

// MARK: - CBOR

extension Pairings {
  /// The member of the state row.
  static let key: CBORValue = 22

  /// Adds the member, with zeros for the tokens (``StateSecrets``), unless there are no pairings.
  func add(to map: inout CBORMap) {
    guard !all.isEmpty else { return }
    map[Self.key] = .array(
      all.map { pairing in
        .map([
          1: .text(pairing.origin), 2: .text(pairing.rpID), 3: .text(pairing.id), 4: .zeros(for: pairing.credential),
          5: pairing.path.isEmpty ? nil : .text(pairing.path),
        ])
      })
  }

  /// Reads the member of the state row; the map has zeros in place of the tokens.
  init(_ map: CBORMap, _ secrets: StateSecrets) throws(CBORError) {
    guard let value = map[Self.key] else { return }
    guard let elements = value.array, 1...Self.maximumCount ~= elements.count,
      elements.count == secrets.pairings.count
    else { throw .unexpectedType("the pairings") }
    for (element, credential) in zip(elements, secrets.pairings) {
      let members = try element.mapOfOurs()
      try members.refuseOtherKeys { [1, 2, 3, 4, 5].contains($0) }
      _ = try members.requiredBytes(4)
      let pairing = Pairing(
        origin: try members.requiredText(1), path: try members.optionalText(5) ?? "",
        rpID: try members.requiredText(2), id: try members.requiredText(3), credential: credential)
      do throws(RecoveryError) { try keep(pairing) } catch { throw .invalid(error.reason) }
    }
    guard all.count == elements.count else { throw .invalid("two pairings with one server") }
  }
}
