import CBOR

/// Why a provider does not do what a dApp asks: ARC-27, Errors.
public enum ARC27Error: Error, Equatable, Sendable {
  /// 4000: something beyond the request; why is for the person, and not told to the dApp.
  case unknown(reason: String)
  /// 4001: the person refused.
  case methodCanceled(ARC27Method)
  /// 4002: nobody answered in time.
  case methodTimedOut(ARC27Method)
  /// 4003: a method that we do not have, or not without a node; its name.
  case methodNotSupported(String)
  /// 4004: a network that we do not know; the hash of its first block, in base64.
  case networkNotSupported(genesisHash: String)
  /// 4100: an account that is not ours, or may not sign this; its address.
  case unauthorizedSigner(String)
  /// 4200: a request that is malformed; where and how.
  case invalidInput(String)
  /// 4201: transactions that are not of the group that they say they are of; the id that they have, 32 bytes.
  ///
  /// The standard's table of codes says 4201, the text of its section 4301. The table's schema is what readers check.
  case invalidGroupID(computed: [UInt8])
  /// 4300: transactions that no node took, `nil` in the list; the ids of those that were taken; and what nodes said.
  case failedToPostSomeTransactions(successTxnIDs: [String?], failures: [PortError])

  /// The number of the standard.
  public var code: Int {
    switch self {
    case .unknown: 4000
    case .methodCanceled: 4001
    case .methodTimedOut: 4002
    case .methodNotSupported: 4003
    case .networkNotSupported: 4004
    case .unauthorizedSigner: 4100
    case .invalidInput: 4200
    case .invalidGroupID: 4201
    case .failedToPostSomeTransactions: 4300
    }
  }

  /// The ids of the transactions that a node took all the same.
  var posted: [String] {
    if case .failedToPostSomeTransactions(let ids, _) = self { ids.compactMap(\.self) } else { [] }
  }

  /// The member `data`, where the standard has one.
  var data: LooseCBORValue? {
    switch self {
    case .unknown, .invalidInput: nil
    case .methodCanceled(let method), .methodTimedOut(let method): ["method": .text(method.rawValue)]
    case .methodNotSupported(let method): ["method": .text(method)]
    case .networkNotSupported(let genesisHash): ["genesisHash": .text(genesisHash)]
    case .unauthorizedSigner(let address): ["signer": .text(address)]
    case .invalidGroupID(let computed): ["computedGroupId": .text(Base64.encode(computed))]
    case .failedToPostSomeTransactions(let ids, _):
      ["successTxnIDs": .array(ids.map { $0.map(LooseCBORValue.text) ?? .null })]
    }
  }
}

extension ARC27Error: CustomStringConvertible {
  /// The member `message`: a sentence for the dApp's person, which says nothing about this machine.
  var message: String {
    switch self {
    case .unknown: "the wallet failed to do this"
    case .methodCanceled: "the user refused"
    case .methodTimedOut: "nobody answered in time"
    case .methodNotSupported(let method): "this wallet does not support the method \(method)"
    case .networkNotSupported: "this wallet does not know the network"
    case .unauthorizedSigner(let address): "this wallet does not sign with \(address)"
    case .invalidInput(let reason): reason
    case .invalidGroupID: "the transactions do not match their group id"
    case .failedToPostSomeTransactions(_, let failures):
      (["the network did not accept all transactions"] + failures.map(\.message)).joined(separator: "; ")
    }
  }

  /// As the message, and with what only the wallet's own person is told.
  public var description: String {
    switch self {
    case .unknown(let reason): "\(message): \(reason)"
    case .failedToPostSomeTransactions(_, let failures):
      (["the network did not accept all transactions"] + failures.map(\.nodeInWords)).joined(separator: "; ")
    default: message
    }
  }
}

extension PortError {
  /// The most characters of a node's own words that are passed on.
  private static let maximumWords = 500

  /// What the dApp is told: a node's words are about the dApp's transactions, and nothing else is.
  fileprivate var message: String {
    switch kind {
    case .refused: "rejected: \(reason.prefix(Self.maximumWords))"
    case .timedOut: "no answer in time"
    default: "the wallet's node cannot be reached"
    }
  }

  /// What the person is told.
  fileprivate var nodeInWords: String {
    switch kind {
    case .refused: "rejected: \(reason.onOneLine)"
    case .timedOut: message
    default: "the node cannot be reached: \(reason)"
    }
  }
}
