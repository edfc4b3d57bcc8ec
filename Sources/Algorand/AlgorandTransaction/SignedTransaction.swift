import CryptoPrimitives
public import DeterministicKeys

/// A signed transaction, in the form that nodes accept.
public struct SignedTransaction: Hashable, Sendable {
  /// The transaction.
  public let transaction: Transaction
  /// The canonical msgpack of transaction and signature.
  public let bytes: [UInt8]

  /// Joins a transaction with a signature over its ``Transaction/signingInput`` (`sig`).
  ///
  /// - Parameters:
  ///   - signature: 64 bytes.
  /// - signer: the account whose key signed; written as `sgnr` if it is not the sender.
  public init(_ transaction: Transaction, signature: [UInt8], signer: AlgorandAddress) {
    precondition(signature.count == Ed25519.signatureSize, "an Ed25519 signature has 64 bytes")
    self.transaction = transaction
    // The members' values in the order of their keys: sgnr, sig, txn. The transaction's bytes are canonical already.
    let isRekeyed = signer != transaction.sender
    var bytes: [UInt8] = [isRekeyed ? 0x83 : 0x82]
    if isRekeyed { bytes += MessagePack.text("sgnr").encoded + MessagePack.bytes(signer.publicKey).encoded }
    bytes += MessagePack.text("sig").encoded + MessagePack.bytes(signature).encoded
    bytes += MessagePack.text("txn").encoded + transaction.bytes
    self.bytes = bytes
  }

  /// Reads a signed transaction, to find out what is posted.
  ///
  /// The network verifies the signature (`sig`, `msig`, `lsig` or `pqsig`). Here exactly one must be present, and no
  /// unknown member.
  ///
  /// - Throws: ``TransactionError`` that names the first fault found.
  public init(decoding bytes: [UInt8]) throws(TransactionError) {
    var members = try Members(MessagePackDecoder.decode(bytes))
    let value = try members.required("txn", members.value("txn"))
    transaction = try Transaction(value, bytes: value.encoded, of: "txn")
    _ = try members.address("sgnr")
    var proofs: [String] = try members.bytes("sig", count: Ed25519.signatureSize) == nil ? [] : ["sig"]
    for name in ["msig", "lsig", "pqsig"] where try members.members(name) != nil { proofs.append(name) }
    guard let first = proofs.first else { throw .missingMember("sig") }
    guard proofs.count == 1 else { throw .contradiction(first, proofs[1]) }
    try members.finish()
    self.bytes = bytes
  }
}
