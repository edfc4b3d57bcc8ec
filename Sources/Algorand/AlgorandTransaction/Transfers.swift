public import DeterministicKeys

/// Sends algos (`pay`).
public struct Payment: Hashable, Sendable {
  /// The receiver (`rcv`); `nil` is the zero address, whose key is unknown.
  public let receiver: AlgorandAddress?
  /// Microalgos (`amt`).
  public let amount: UInt64
  /// The receiver of the remainder, if the account is closed (`close`).
  public let closeRemainderTo: AlgorandAddress?

  init(_ members: inout Members) throws(TransactionError) {
    receiver = try members.address("rcv")
    amount = try members.unsigned("amt")
    closeRemainderTo = try members.address("close")
  }
}

/// Sends an asset, claws it back, or opts in to it (`axfer`).
public struct AssetTransfer: Hashable, Sendable {
  /// The asset's id (`xaid`).
  public let asset: UInt64
  /// In smallest units, whatever the asset's decimals are (`aamt`).
  public let amount: UInt64
  /// The account from which the sender, the clawback address, takes the asset (`asnd`).
  public let assetSender: AlgorandAddress?
  /// The receiver (`arcv`); `nil` is the zero address.
  public let receiver: AlgorandAddress?
  /// The receiver of the remaining holding, if the sender opts out of the asset (`aclose`).
  public let closeTo: AlgorandAddress?

  init(_ members: inout Members) throws(TransactionError) {
    asset = try members.unsigned("xaid")
    amount = try members.unsigned("aamt")
    assetSender = try members.address("asnd")
    receiver = try members.address("arcv")
    closeTo = try members.address("aclose")
    guard asset != 0 else { throw .missingMember("xaid") }
    guard assetSender == nil || closeTo == nil else { throw .contradiction("asnd", "aclose") }
  }
}

/// Creates an asset, changes its roles, or destroys it (`acfg`).
public struct AssetConfiguration: Hashable, Sendable {
  /// The asset's id (`caid`); 0 creates a new one.
  public let asset: UInt64
  /// The new parameters (`apar`); `nil` with an id destroys the asset.
  public let parameters: Parameters?

  /// The parameters of an asset.
  public struct Parameters: Hashable, Sendable {
    /// The total in smallest units (`t`).
    public let total: UInt64
    /// Digits after the decimal point, 0 to 19 (`dc`).
    public let decimals: UInt64
    /// Whether holdings are frozen by default (`df`).
    public let isFrozenByDefault: Bool
    /// The unit's name (`un`).
    public let unitName: String
    /// The asset's name (`an`).
    public let assetName: String
    /// The address of more information (`au`).
    public let url: String
    /// A commitment to that information, 32 bytes (`am`).
    public let metadataHash: [UInt8]?
    /// The account that may change these four roles, and destroy the asset (`m`).
    public let manager: AlgorandAddress?
    /// The account that holds units that are not issued (`r`).
    public let reserve: AlgorandAddress?
    /// The account that may freeze holdings (`f`).
    public let freeze: AlgorandAddress?
    /// The account that may take holdings away (`c`).
    public let clawback: AlgorandAddress?
  }

  init(_ members: inout Members) throws(TransactionError) {
    asset = try members.unsigned("caid")
    if var inner = try members.members("apar") {
      parameters = try Parameters(&inner)
      try inner.finish()
    } else {
      parameters = nil
    }
  }
}

extension AssetConfiguration.Parameters {
  fileprivate init(_ members: inout Members) throws(TransactionError) {
    total = try members.unsigned("t")
    decimals = try members.unsigned("dc", upTo: 19)
    isFrozenByDefault = try members.bool("df")
    unitName = try members.text("un")
    assetName = try members.text("an")
    url = try members.text("au")
    metadataHash = try members.bytes("am", count: 32)
    manager = try members.address("m")
    reserve = try members.address("r")
    freeze = try members.address("f")
    clawback = try members.address("c")
  }
}

/// Freezes or unfreezes an account's holding of an asset (`afrz`).
public struct AssetFreeze: Hashable, Sendable {
  /// The asset's id (`faid`).
  public let asset: UInt64
  /// The account that holds the asset (`fadd`).
  public let account: AlgorandAddress
  /// Whether it is to be frozen (`afrz`).
  public let isFrozen: Bool

  init(_ members: inout Members) throws(TransactionError) {
    asset = try members.unsigned("faid")
    account = try members.required("fadd", members.address("fadd"))
    isFrozen = try members.bool("afrz")
    guard asset != 0 else { throw .missingMember("faid") }
  }
}
