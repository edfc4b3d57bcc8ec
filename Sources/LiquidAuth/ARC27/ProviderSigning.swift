import AlgorandTransaction
import CBOR
import CryptoPrimitives
import DeterministicKeys
import Recovery

extension Provider {
  /// ARC-27, Sign Transactions: `stxns` has one element for each of `txns`, `null` where nobody was to sign.
  func signTransactions(_ items: [WalletTransaction]) async throws(ARC27Error) -> [String: LooseCBORValue] {
    let signatures = try await signatures(for: items)
    let stxns = zip(items, signatures).map { item, signature -> LooseCBORValue in
      guard let signature else { return item.stxn.map { .text($0.text) } ?? .null }
      switch configuration.signedTransactionForm {
      case .signature: return .text(Base64URL.encode(signature))
      case .signedTransaction: return .text(Base64.encode(signed(item, signature).bytes))
      }
    }
    return ["stxns": .array(stxns)]
  }

  /// The request's message, without a prefix: the authenticator signs "MX" ‖ message, and so do the SDKs.
  ///
  /// ARC-27 knows no prefix. Without one, a message could be a transaction.
  func sign(_ message: String, signer address: AlgorandAddress?) async throws(ARC27Error) -> [String: LooseCBORValue] {
    if let address, address != configuration.account { throw .unauthorizedSigner(address.text) }
    let bytes = Array(message.utf8)
    guard (1...Self.maximumMessageSize).contains(bytes.count) else {
      throw .invalidInput("params.message has \(bytes.count) bytes; it must have 1 to \(Self.maximumMessageSize)")
    }
    let signature: [UInt8]
    do throws(PortError) {
      signature = try await signer.sign(message: bytes, origin: configuration.origin)
    } catch {
      throw ARC27Error(error, .signMessage, [])
    }
    guard isValid(signature, over: Array("MX".utf8) + bytes) else {
      throw .unknown(reason: "the authenticator signed something else than the message")
    }
    return ["signature": .text(Base64.encode(signature)), "signer": .text(configuration.account.text)]
  }

  /// Signs what is to be signed, after everything else has been found right: all of it, or nothing.
  func signatures(
    for items: [WalletTransaction], _ method: ARC27Method = .signTransactions
  ) async throws(ARC27Error) -> [[UInt8]?] {
    var transactions: [TransactionToSign] = []
    for item in items {
      _ = try configuration.network(item.transaction.genesisHash)
      let isToBeSigned = try item.isToBeSigned(by: configuration.account)
      transactions.append(
        TransactionToSign(
          bytes: item.transaction.bytes, isToBeSigned: isToBeSigned, authAddr: isToBeSigned ? item.authAddr : nil))
    }
    try Self.checkGroup(of: items)
    guard transactions.contains(where: \.isToBeSigned) else { return items.map { _ in nil } }
    let signatures: [[UInt8]?]
    do throws(PortError) {
      signatures = try await signer.sign(transactions, origin: configuration.origin)
    } catch {
      throw ARC27Error(error, method, items)
    }
    guard signatures.count == items.count, zip(transactions, zip(items, signatures)).allSatisfy(isAnswered) else {
      throw .unknown(reason: "the authenticator signed something else than it was asked to")
    }
    return signatures
  }

  /// Whether there is a signature of our account over just this transaction, or none where none was asked for.
  private func isAnswered(_ asked: TransactionToSign, _ answer: (item: WalletTransaction, signature: [UInt8]?)) -> Bool
  {
    guard let signature = answer.signature else { return !asked.isToBeSigned }
    return asked.isToBeSigned && isValid(signature, over: answer.item.transaction.signingInput)
  }

  private func isValid(_ signature: [UInt8], over bytes: [UInt8]) -> Bool {
    Ed25519.isValidSignature(signature, for: bytes, publicKey: configuration.account.publicKey)
  }

  /// ARC-1, Group Validation; ARC-27 lets a list be empty, and there is nothing to group in it.
  private static func checkGroup(of items: [WalletTransaction]) throws(ARC27Error) {
    guard !items.isEmpty else { return }
    do throws(TransactionError) {
      _ = try TransactionGroup(items.map(\.transaction))
    } catch {
      throw error.computedID.map(ARC27Error.invalidGroupID) ?? .invalidInput("params.txns: \(error)")
    }
  }

  /// A transaction with our signature.
  func signed(_ item: WalletTransaction, _ signature: [UInt8]) -> SignedTransaction {
    SignedTransaction(item.transaction, signature: signature, signer: configuration.account)
  }
}

extension ARC27Error {
  /// What a dApp is told of a signer that did not sign.
  fileprivate init(_ failure: PortError, _ method: ARC27Method, _ items: [WalletTransaction]) {
    switch failure.kind {
    case .declined: self = .methodCanceled(method)
    case .timedOut: self = .methodTimedOut(method)
    case .wrongGroup(let computed): self = .invalidGroupID(computed: computed)
    case .notOurSigner(let index):
      let item = items.indices.contains(index) ? items[index] : nil
      self =
        item.map { .unauthorizedSigner(($0.authAddr ?? $0.transaction.sender).text) }
        ?? .unknown(reason: "the authenticator refused a transaction that it was not given")
    case .notUnderstood(let index):
      self = .invalidInput(index.map { "params.txns[\($0)].txn is refused: \(failure.reason)" } ?? failure.reason)
    default: self = .unknown(reason: failure.reason)
    }
  }
}
