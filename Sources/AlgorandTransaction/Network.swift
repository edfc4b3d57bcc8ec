/// The public networks, each known by the hash of its first block.
public enum Network: String, CaseIterable, Sendable {
  /// Where algos are worth something.
  case mainnet = "mainnet-v1.0"
  /// Where applications are tried.
  case testnet = "testnet-v1.0"
  /// Where the protocol's next version is tried.
  case betanet = "betanet-v1.0"

  /// The network's id for people (`gen`).
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

  /// Whether name and hash are of the same network, as far as one of them is a public one's.
  static func agree(genesisID: String, genesisHash: [UInt8]) -> Bool {
    let known = Network(genesisHash: genesisHash)
    return genesisID.isEmpty || known == Network(rawValue: genesisID) && (known == nil || known?.genesisID == genesisID)
  }
}
