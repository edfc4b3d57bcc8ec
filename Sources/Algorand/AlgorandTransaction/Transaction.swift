import CryptoPrimitives
public import DeterministicKeys

/// An Algorand transaction, decoded from canonical msgpack; unknown members are refused.
///
/// Members have the names of go-algorand's structures, with the msgpack keys in parentheses. Absent members are zero.
public struct Transaction: Sendable {
  /// The most bytes that are decoded; far more than any transaction has.
  public static let maximumSize = 65_536
  /// The prefix of the bytes when they are hashed or signed.
  private static let prefix = Array("TX".utf8)

  /// The canonical msgpack, as received.
  public let bytes: [UInt8]
  /// The sender, who pays the fee (`snd`).
  public let sender: AlgorandAddress
  /// The fee in microalgos (`fee`).
  public let fee: UInt64
  /// The first round in which it may be committed (`fv`).
  public let firstValid: UInt64
  /// The last round in which it may be committed (`lv`).
  public let lastValid: UInt64
  /// The network's readable name (`gen`); may be empty.
  public let genesisID: String
  /// The network: the hash of its first block, 32 bytes (`gh`).
  public let genesisHash: [UInt8]
  /// The group id, 32 bytes (`grp`).
  public let group: [UInt8]?
  /// The lease, 32 bytes (`lx`): excludes other transactions of the sender with the same lease while this one is valid.
  public let lease: [UInt8]?
  /// Any bytes (`note`); may be empty.
  public let note: [UInt8]
  /// The account whose key signs for the sender from now on (`rekey`).
  public let rekeyTo: AlgorandAddress?
  /// What it does (`type`, and the members of that type).
  public let content: Content
  /// This transaction's element in the group id: its hash without `grp`, 32 bytes.
  let groupElement: [UInt8]

  /// What a transaction does.
  public enum Content: Hashable, Sendable {
    /// `pay`.
    case payment(Payment)
    /// `axfer`.
    case assetTransfer(AssetTransfer)
    /// `acfg`.
    case assetConfiguration(AssetConfiguration)
    /// `afrz`.
    case assetFreeze(AssetFreeze)
    /// `appl`.
    case applicationCall(ApplicationCall)
    /// `keyreg`.
    case keyRegistration(KeyRegistration)
  }

  /// Reads a transaction, without the prefix "TX".
  ///
  /// - Throws: ``TransactionError`` that names the first fault found.
  public init(decoding bytes: [UInt8]) throws(TransactionError) {
    try self.init(MessagePackDecoder.decode(bytes), bytes: bytes)
  }

  /// Reads a transaction from its decoded value, whose encoding is `bytes`.
  init(_ value: MessagePack, bytes: [UInt8], of name: String = "") throws(TransactionError) {
    var members = try Members(value, of: name)
    self.bytes = bytes
    // The type decides which other members are allowed, so it comes first.
    let type = try members.text("type")
    guard !type.isEmpty else { throw .missingMember("type") }
    sender = try members.required("snd", members.address("snd"))
    fee = try members.unsigned("fee")
    firstValid = try members.unsigned("fv")
    lastValid = try members.unsigned("lv")
    genesisID = try members.text("gen")
    genesisHash = try members.required("gh", members.bytes("gh", count: 32))
    group = try members.bytes("grp", count: 32)
    lease = try members.bytes("lx", count: 32)
    note = try members.bytes("note")
    rekeyTo = try members.address("rekey")
    content = try Content(type: type, &members)
    try members.finish()
    guard firstValid <= lastValid else { throw .contradiction("fv", "lv") }
    guard Network.agree(genesisID: genesisID, genesisHash: genesisHash) else { throw .contradiction("gen", "gh") }
    groupElement = SHA512_256.hash(Self.prefix, value.without("grp").encoded)
  }

  /// What an Ed25519 key signs: "TX" ‖ ``bytes``.
  public var signingInput: [UInt8] { Self.prefix + bytes }

  /// The transaction's id: 52 characters, base32 of the SHA-512/256 of ``signingInput``.
  public var id: String { String(decoding: Base32.encode(SHA512_256.hash(signingInput)), as: UTF8.self) }
}

// Equal bytes mean equal transactions.
extension Transaction: Hashable {
  /// Compares the bytes.
  public static func == (left: Transaction, right: Transaction) -> Bool { left.bytes == right.bytes }

  /// Hashes the bytes.
  public func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}

extension Transaction.Content {
  /// Reads the members of one type; those of another stay unread.
  fileprivate init(type: String, _ members: inout Members) throws(TransactionError) {
    switch type {
    case "pay": self = .payment(try Payment(&members))
    case "axfer": self = .assetTransfer(try AssetTransfer(&members))
    case "acfg": self = .assetConfiguration(try AssetConfiguration(&members))
    case "afrz": self = .assetFreeze(try AssetFreeze(&members))
    case "appl": self = .applicationCall(try ApplicationCall(&members))
    case "keyreg": self = .keyRegistration(try KeyRegistration(&members))
    case "stpf", "hb": throw .notForWallets(type)
    default: throw .unknownType(type)
    }
  }
}

extension MessagePack {
  /// A map without one of its members.
  func without(_ key: String) -> MessagePack {
    guard case .map(let members) = self else { return self }
    return .map(members.filter { $0.key != key })
  }
}

/// The public networks, identified by the hash of their first block.
public enum Network: String, CaseIterable, Sendable {
  /// The main network, where algos have value.
  case mainnet = "mainnet-v1.0"
  /// The network for testing applications.
  case testnet = "testnet-v1.0"
  /// The network for testing the next version of the protocol.
  case betanet = "betanet-v1.0"

  /// The network's readable id (`gen`).
  public var genesisID: String { rawValue }

  /// The hash of the first block (`gh`), in base64, as the network's documentation and ARC-27 write it.
  public var genesisHash: String {
    switch self {
    case .mainnet: "wGHE2Pwdvd7S12BL5FaOP20EGYesN73ktiC1qzkkit8="
    case .testnet: "SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI="
    case .betanet: "mFgazF+2uRS1tMiL9dsj01hJGySEmPN28B/TjjvpVW0="
    }
  }

  /// The public network with this first block; `nil` for a private one.
  public init?(genesisHash: [UInt8]) {
    let text = genesisHash.base64
    guard let network = Self.allCases.first(where: { $0.genesisHash == text }) else { return nil }
    self = network
  }

  /// Whether name and hash are of the same network, if one of them is that of a public network.
  static func agree(genesisID: String, genesisHash: [UInt8]) -> Bool {
    genesisID.isEmpty || Network(genesisHash: genesisHash) == Network(rawValue: genesisID)
  }
}
