import AlgorandTransaction
import ControlClient
import ControlDoor
import DeterministicKeys
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
