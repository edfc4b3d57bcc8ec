import AlgorandTransaction
import CBOR
import CryptoPrimitives
public import DeterministicKeys

/// The methods that a dApp can request: ARC-27, Supported Methods.
public enum ARC27Method: String, CaseIterable, Sendable {
  /// Returns the provider, its networks, and its methods on each.
  case discover
  /// Returns the accounts that the dApp may use.
  case enable
  /// Ends a session.
  case disable
  /// Signs transactions.
  case signTransactions = "sign_transactions"
  /// Signs a text.
  case signMessage = "sign_message"
  /// Posts signed transactions to a network.
  case postTransactions = "post_transactions"
  /// Signs transactions and posts them to a network.
  case signAndPostTransactions = "sign_and_post_transactions"
}

extension ARC27Method {
  fileprivate var needsParams: Bool {
    switch self {
    case .discover, .enable, .disable: false
    case .signTransactions, .signMessage, .postTransactions, .signAndPostTransactions: true
    }
  }

  /// Whether it needs a node.
  var isForNodes: Bool { self == .postTransactions || self == .signAndPostTransactions }
}

extension Provider {
  /// Reads a whole request, and performs it.
  ///
  /// ARC-27, Param Definitions. `providerId` is ignored: in the standard it selects one of several providers on a page,
  /// and here each channel has one. Liquid Auth's dApps send a constant that belongs to no provider.
  ///
  /// - Throws: ``ARC27Error/invalidInput(_:)`` that names the wrong member, or the reason why the request is not done.
  mutating func result(of request: ARC27Envelope) async throws(ARC27Error) -> [LooseCBORName: LooseCBORValue] {
    if request.method == DAppIntroduction.method { return hello() }
    guard let method = ARC27Method(rawValue: request.method) else { throw .methodNotSupported(request.method) }
    let params = try ARC27Members(request.params, path: "params", isOptional: !method.needsParams)
    switch method {
    case .discover: return discover()
    case .enable: return try enable(network(params.genesisHash()))
    case .disable:
      let genesisHash = try params.genesisHash()
      let ids = try params.list("sessionIds") { member throws(ARC27Error) in try member.text() } ?? []
      return try disable(network(genesisHash), ids)
    case .signTransactions: return try await signTransactions(WalletTransaction.list(params))
    case .signMessage: return try await signMessage(params)
    case .postTransactions:
      let stxns = try params.list("stxns") { member throws(ARC27Error) in try member.base64() }
      return try await postTransactions(params.required("stxns", stxns))
    case .signAndPostTransactions: return try await signAndPostTransactions(WalletTransaction.list(params))
    }
  }
}

// MARK: - Signatures

/// The port to the signer for an Algorand account: our own authenticator.
///
/// The authenticator decodes the transactions itself, and shows them in a prompt. ``Provider`` checks them before only
/// so that a dApp gets an early and exact error; security does not depend on these checks.
public protocol TransactionSigner: Sendable {
  /// Signs the marked transactions of one list, all or none.
  ///
  /// - Parameters:
  ///   - transactions: 1 to 16, one whole group in its order, or transactions without a group; at least one is to be
  ///     signed.
  ///   - origin: the dApp's origin, which the prompt shows.
  /// - Returns: for each transaction in order, 64 bytes over "TX" ‖ transaction if it was to be signed, otherwise
  ///   `nil`.
  func sign(
    _ transactions: [TransactionToSign], origin: String
  ) async throws(PortError) -> [[UInt8]?]

  /// Signs a message, 1 to 1024 bytes of UTF-8: 64 bytes over "MX" ‖ message.
  func sign(message: [UInt8], origin: String) async throws(PortError) -> [UInt8]
}

/// One transaction of a list, and whether it is to be signed.
public struct TransactionToSign: Equatable, Sendable {
  /// Canonical msgpack, without the prefix "TX".
  public let bytes: [UInt8]
  /// Whether the account is to sign it; if not, it is only shown, and part of the group's id.
  public let isToBeSigned: Bool
  /// The signer, if the dApp says that the sender was rekeyed to another account (`authAddr`).
  public let authAddr: AlgorandAddress?

  public init(bytes: [UInt8], isToBeSigned: Bool, authAddr: AlgorandAddress? = nil) {
    self.bytes = bytes
    self.isToBeSigned = isToBeSigned
    self.authAddr = authAddr
  }
}

extension Provider {
  /// ARC-27, Sign Transactions: `stxns` has one element for each of `txns`, `null` if it was not to be signed.
  func signTransactions(_ items: [WalletTransaction]) async throws(ARC27Error) -> [LooseCBORName: LooseCBORValue] {
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

  /// Signs the request's message with a prefix, "MX" ‖ message, as the SDKs do.
  ///
  /// ARC-27 defines no prefix. Without one, a message could be a transaction.
  func signMessage(_ params: ARC27Members) async throws(ARC27Error) -> [LooseCBORName: LooseCBORValue] {
    // ARC-60 has a method of the same name, over other bytes.
    guard params.names.contains("message") || !params.names.contains("data") else {
      throw .invalidInput(
        "params.data: sign_message takes a text in message (ARC-27); ARC-60 is not supported")
    }
    let message = try params.required("message", params.member("message")?.text())
    if let address = try params.member("signer")?.address(), address != configuration.account {
      throw .unauthorizedSigner(address.text)
    }
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
      throw .unknown(reason: "the authenticator's signature is not over the message")
    }
    return ["signature": .text(Base64.encode(signature)), "signer": .text(configuration.account.text)]
  }

  /// Signs the marked transactions, all or none, after all other checks have passed.
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
      throw .unknown(reason: "the authenticator's signature is not over the transaction")
    }
    return signatures
  }

  /// Whether a requested signature is our account's over exactly this transaction, or absent if it was not requested.
  private func isAnswered(_ asked: TransactionToSign, _ answer: (item: WalletTransaction, signature: [UInt8]?)) -> Bool
  {
    guard let signature = answer.signature else { return !asked.isToBeSigned }
    return asked.isToBeSigned && isValid(signature, over: answer.item.transaction.signingInput)
  }

  private func isValid(_ signature: [UInt8], over bytes: [UInt8]) -> Bool {
    Ed25519.isValidSignature(signature, for: bytes, publicKey: configuration.account.publicKey)
  }

  /// ARC-1, Group Validation; ARC-27 allows an empty list, which has no group.
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
  /// The error for a dApp when the signer did not sign.
  fileprivate init(_ failure: PortError, _ method: ARC27Method, _ items: [WalletTransaction]) {
    switch failure.kind {
    case .declined: self = .methodCanceled(method, reason: failure.reason)
    case .timedOut: self = .methodTimedOut(method)
    case .wrongGroup(let computed): self = .invalidGroupID(computed: computed)
    case .notOurSigner(let index):
      let item = items.indices.contains(index) ? items[index] : nil
      self =
        item.map { .unauthorizedSigner(($0.authAddr ?? $0.transaction.sender).text) }
        ?? .unknown(reason: "the authenticator refused a transaction that was not sent")
    case .notUnderstood(let index):
      self = .invalidInput(index.map { "params.txns[\($0)].txn is refused: \(failure.reason)" } ?? failure.reason)
    default: self = .unknown(reason: failure.reason)
    }
  }
}
