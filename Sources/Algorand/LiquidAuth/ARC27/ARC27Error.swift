import CBOR
import CryptoPrimitives

/// Why a provider does not do what a dApp requests: ARC-27, Errors.
public enum ARC27Error: Error, Equatable, Sendable {
  /// 4000: a fault outside the request; the reason is shown to the user, and not sent to the dApp.
  case unknown(reason: String)
  /// 4001: the user or a policy refused, or no prompt could be shown; the reason is shown to the user, and not sent to the
  /// dApp.
  case methodCanceled(ARC27Method, reason: String)
  /// 4002: no answer to the prompt in time.
  case methodTimedOut(ARC27Method)
  /// 4003: the name of a method that is unknown, with its namespace if that is not ARC-27's; or of one that needs a node
  /// that is not configured.
  case methodNotSupported(String)
  /// 4004: an unknown network; the hash of its first block, in base64.
  case networkNotSupported(genesisHash: String)
  /// 4100: the address of an account that is not in use here, or may not sign this.
  case unauthorizedSigner(String)
  /// 4200: a malformed request; where and how.
  case invalidInput(String)
  /// 4201: transactions that do not match their group id; the id that they have, 32 bytes.
  ///
  /// The standard's table of codes says 4201, the text of its section 4301. Readers check the schema of the table.
  case invalidGroupID(computed: [UInt8])
  /// 4300: the ids of the posted transactions, `nil` for those that no node accepted; and the nodes' answers.
  case failedToPostSomeTransactions(successTxnIDs: [String?], failures: [PortError])

  /// The standard's number.
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

  /// The ids of the transactions that a node accepted in spite of the error.
  var posted: [String] {
    if case .failedToPostSomeTransactions(let ids, _) = self { ids.compactMap(\.self) } else { [] }
  }

  /// The member `data`, if the standard defines one.
  var data: LooseCBORValue? {
    switch self {
    case .unknown, .invalidInput: nil
    case .methodCanceled(let method, _), .methodTimedOut(let method): ["method": .text(method.rawValue)]
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
  /// The member `message`: a sentence for the dApp's user, which reveals nothing about this machine.
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

  /// The message, with details for the user of this wallet only.
  public var description: String {
    switch self {
    case .unknown(let reason): "\(message): \(reason)"
    case .methodCanceled(_, let reason): reason
    case .failedToPostSomeTransactions(_, let failures):
      (["the network did not accept all transactions"] + failures.map(\.nodeInWords)).joined(separator: "; ")
    default: message
    }
  }
}

extension PortError {
  /// The most characters of a node's own words that are sent on.
  private static let maximumWords = 500

  /// The text for the dApp: a node's words, since they are about the dApp's transactions, and no other detail.
  fileprivate var message: String {
    switch kind {
    case .refused: "rejected: \(reason.prefix(Self.maximumWords))"
    case .timedOut: "no answer in time"
    default: "the wallet's node cannot be reached"
    }
  }

  /// The text for the user.
  fileprivate var nodeInWords: String {
    switch kind {
    case .refused: "rejected: \(reason.onOneLine)"
    case .timedOut: message
    default: "the node cannot be reached: \(reason)"
    }
  }
}
