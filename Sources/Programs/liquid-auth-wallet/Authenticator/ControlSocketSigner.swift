import AlgorandTransaction
import ControlClient
import ControlProtocol
import DeterministicKeys
import DisplayText
import LiquidAuth

/// Signs with the account of our authenticator over the control socket.
///
/// The authenticator decodes the data, shows it in a prompt, and signs. Every request is reported first. Only a prompt
/// reports that it waits for an answer: data that the authenticator cannot read has no prompt.
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

// MARK: - Events of signing

/// The progress of signatures that the dApp or `rekey` requests.
enum SigningEvent: Equatable {
  /// This many of a list of transactions are to be signed; the authenticator shows a prompt if it can read them.
  case transactions(Int, of: Int)
  /// A message is to be signed, in the same way.
  case message
  /// Transactions were signed; their ids.
  case signedTransactions([String])
  /// A message was signed.
  case signedMessage
  /// Networks accepted these transactions; their ids.
  case posted([String])
}

extension SigningEvent {
  /// One sentence, then one id per line.
  var text: String {
    switch self {
    case .transactions(let count, let all):
      "\(count == all ? "" : "\(count) of ")\(Self.counted(all)) \(count == 1 ? "is" : "are") to be signed"
    case .message: "a message is to be signed"
    case .signedTransactions(let ids): (["signed \(Self.counted(ids.count)):"] + ids).joined(separator: "\n")
    case .signedMessage: "signed a message"
    case .posted(let ids): (["posted \(Self.counted(ids.count)):"] + ids).joined(separator: "\n")
    }
  }

  private static func counted(_ count: Int) -> String { count == 1 ? "1 transaction" : "\(count) transactions" }

  /// The name of the event.
  var name: String {
    switch self {
    case .transactions, .message: "signing"
    case .signedTransactions, .signedMessage: "signed"
    case .posted: "posted"
    }
  }

  /// The members: names and JSON values.
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
