public import DeterministicKeys

/// What a node says about a transaction that is made now.
public struct TransactionParameters: Hashable, Sendable {
  /// The fee in microalgos.
  public var fee: UInt64
  /// The first round in which the transaction may be committed.
  public var firstValid: UInt64
  /// The last round in which it may be committed.
  public var lastValid: UInt64
  /// The network's readable name.
  public var genesisID: String
  /// The network: the hash of its first block, 32 bytes.
  public var genesisHash: [UInt8]

  public init(fee: UInt64, firstValid: UInt64, lastValid: UInt64, genesisID: String, genesisHash: [UInt8]) {
    (self.fee, self.firstValid, self.lastValid) = (fee, firstValid, lastValid)
    (self.genesisID, self.genesisHash) = (genesisID, genesisHash)
  }
}

extension Transaction {
  /// The transaction that gives control of an account to another key, and does nothing else: a payment of 0 ALGO by
  /// the account to itself, with `rekey`.
  ///
  /// - Throws: ``TransactionError`` for parameters that no transaction can have.
  public init(
    rekeying account: AlgorandAddress, to key: AlgorandAddress, _ parameters: TransactionParameters
  ) throws(TransactionError) {
    try self.init(payingNothing: account, [("rekey", .bytes(key.publicKey))], parameters)
  }

  /// A payment of 0 ALGO by an account to itself, which changes nothing but its fee: to try out a signature.
  package init(
    payingNothing account: AlgorandAddress, note: [UInt8], _ parameters: TransactionParameters
  ) throws(TransactionError) {
    try self.init(payingNothing: account, [("note", .bytes(note))], parameters)
  }

  private init(
    payingNothing account: AlgorandAddress, _ more: [(String, MessagePack)], _ parameters: TransactionParameters
  ) throws(TransactionError) {
    let members: [(String, MessagePack)] = [
      ("fee", .unsigned(parameters.fee)), ("fv", .unsigned(parameters.firstValid)),
      ("gen", .text(parameters.genesisID)), ("gh", .bytes(parameters.genesisHash)),
      ("lv", .unsigned(parameters.lastValid)), ("rcv", .bytes(account.publicKey)), ("snd", .bytes(account.publicKey)),
      ("type", .text("pay")),
    ]
    let all = (members + more).sorted { $0.0 < $1.0 }.filter { !$0.1.isZero }
    try self.init(decoding: MessagePack.map(all.map { MessagePack.Member(key: $0.0, value: $0.1) }).encoded)
  }

  /// Whether it does nothing but give the control of an account to another key.
  public func isRekeying(_ account: AlgorandAddress, to key: AlgorandAddress) -> Bool {
    let parameters = TransactionParameters(
      fee: fee, firstValid: firstValid, lastValid: lastValid, genesisID: genesisID, genesisHash: genesisHash)
    return (try? Transaction(rekeying: account, to: key, parameters)) == self
  }
}
