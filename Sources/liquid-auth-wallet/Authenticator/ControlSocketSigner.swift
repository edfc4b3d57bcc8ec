import AlgorandTransaction
import ControlClient
import ControlProtocol
import DeterministicKeys
import DisplayText
import LiquidAuth

/// The account of our authenticator, behind its control socket: it decodes, shows, asks and signs.
///
/// The person is told what is wanted. Where it is asked for, only a prompt tells: what cannot be read has none.
struct ControlSocketSigner: TransactionSigner {
  let socket: ControlSocket
  let output: EventOutput

  func sign(
    _ transactions: [TransactionToSign], origin: String
  ) async throws(PortError) -> [[UInt8]?] {
    let items = transactions.map {
      SignTransactions.Item($0.bytes, isToBeSigned: $0.isToBeSigned, signer: $0.authAddr?.text)
    }
    let asked = transactions.filter(\.isToBeSigned)
    output.report(.signing(.transactions(asked.count, of: transactions.count)))
    let answer = try await socket.ask(SignTransactions(items, origin: origin))
    output.report(.signing(.signedTransactions(asked.compactMap { try? Transaction(decoding: $0.bytes).id })))
    return answer.signatures
  }

  func sign(message: [UInt8], origin: String) async throws(PortError) -> [UInt8] {
    output.report(.signing(.message))
    let signature = try await socket.ask(SignMessage(message, origin: origin))
    output.report(.signing(.signedMessage))
    return signature.bytes
  }
}

// MARK: - What is told of it

/// What becomes of signatures that the dApp asks for.
enum SigningEvent: Equatable {
  /// So many of a list of transactions are to be signed: the authenticator is given them, and asks if it can read them.
  case transactions(Int, of: Int)
  /// A message is to be signed, likewise.
  case message
  /// Transactions were signed; their ids.
  case signedTransactions([String])
  /// A message was signed.
  case signedMessage
  /// Their networks took these transactions; their ids.
  case posted([String])
}

extension SigningEvent {
  /// One sentence, and an id a line.
  var text: String {
    switch self {
    case .transactions(let count, let all):
      "the dApp wants \(count == all ? "" : "\(count) of ")\(Self.counted(all)) signed"
    case .message: "the dApp wants a message signed"
    case .signedTransactions(let ids): (["signed \(Self.counted(ids.count)):"] + ids).joined(separator: "\n")
    case .signedMessage: "signed a message"
    case .posted(let ids): (["posted \(Self.counted(ids.count)):"] + ids).joined(separator: "\n")
    }
  }

  private static func counted(_ count: Int) -> String { count == 1 ? "1 transaction" : "\(count) transactions" }

  /// What it is called.
  var name: String {
    switch self {
    case .transactions, .message: "signing"
    case .signedTransactions, .signedMessage: "signed"
    case .posted: "posted"
    }
  }

  /// Names and JSON values.
  var members: [(String, String)] {
    switch self {
    case .transactions(let count, let all):
      [("what", DisplayText.json("transactions")), ("count", String(count)), ("of", String(all))]
    case .message: [("what", DisplayText.json("message")), ("count", "1"), ("of", "1")]
    case .signedTransactions(let ids): [("what", DisplayText.json("transactions")), ("ids", Self.list(ids))]
    case .signedMessage: [("what", DisplayText.json("message")), ("ids", "[]")]
    case .posted(let ids): [("ids", Self.list(ids))]
    }
  }

  private static func list(_ texts: [String]) -> String {
    "[" + texts.map(DisplayText.json).joined(separator: ", ") + "]"
  }
}
