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
  /// Whether the prompts show long fields whole.
  let showsAll: Bool

  func sign(
    _ transactions: [TransactionToSign], origin: String
  ) async throws(PortError) -> [[UInt8]?] {
    let items = transactions.map {
      SignTransactions.Item($0.bytes, isToBeSigned: $0.isToBeSigned, signer: $0.authAddr?.text)
    }
    let asked = transactions.filter(\.isToBeSigned)
    output.report(.signing(.transactions(asked.count, of: transactions.count)))
    let answer = try await socket.ask(SignTransactions(items, origin: origin, showsAll: showsAll))
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
