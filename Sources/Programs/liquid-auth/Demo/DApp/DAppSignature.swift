import AlgorandTransaction
import CBOR
import CryptoPrimitives
import DeterministicKeys
import LiquidAuth
import Recovery

/// A step of the demo's dApp.
enum DAppStep: String, DemoStep {
  /// A wallet registers a passkey.
  case registration
  /// A wallet signs in with its passkey.
  case signIn = "sign-in"
  /// The wallet signs a transaction.
  case signature

  var title: String {
    switch self {
    case .registration: "a wallet registers a passkey"
    case .signIn: "a wallet signs in with its passkey"
    case .signature: "the wallet signs a transaction"
    }
  }
}

/// What happens at the site of `liquid-auth demo --dapp`.
typealias DAppEvent = DemoEvent<DAppStep>

/// One request of ARC-27 for a signature: of a payment of 0 ALGO on the test network, which nothing sends there.
struct DAppSignature: Sendable {
  /// The names of the request and of its answer.
  private static let method = "arc0027:sign_transactions"
  /// What the dApps of Liquid Auth send.
  private static let providerID = "02657eaf-be17-4efc-b0a4-19d654b2448e"

  /// The id of the request.
  let id: String
  /// The transaction to sign.
  let transaction: Transaction

  /// What the wallet has answered.
  enum Outcome: Equatable {
    /// A signature, or something else.
    case answered(DemoVerdict)
    /// An error, in words.
    case refused(String)
  }

  /// Makes the request for an account.
  init(_ account: AlgorandAddress) throws(TransactionError) {
    // Rounds that were over in 2019, so that no node accepts it.
    let parameters = TransactionParameters(
      fee: 1000, firstValid: 1, lastValid: 1000, genesisID: Network.testnet.genesisID,
      genesisHash: Provider.Network(.testnet).genesisHash)
    transaction = try Transaction(
      payingNothing: account, note: Array("liquid-auth demo --dapp".utf8), parameters)
    var generator = SystemRandomNumberGenerator()
    id = UUIDv4.make(using: &generator)
  }

  /// The message for the data channel: a CBOR map in base64url.
  var frame: String {
    let params: LooseCBORValue = [
      "providerId": .text(Self.providerID), "txns": [["txn": .text(Base64URL.encode(transaction.bytes))]],
    ]
    let message: LooseCBORValue = [
      "id": .text(id), "reference": .text("\(Self.method):request"), "params": params,
    ]
    return Base64URL.encode(LooseCBOREncoder.encode(message))
  }

  /// Verifies the wallet's message.
  func verify(_ frame: String) -> Outcome {
    var verdict = DemoVerdict()
    guard let bytes = Base64URL.decode(frame.utf8),
      let value = try? LooseCBORDecoder.decode(bytes, maximumSize: DemoSite.longestBody), let answer = value.map
    else {
      verdict.check("the answer is a CBOR map in base64url", false)
      return .answered(verdict)
    }
    verdict.check(
      "the answer is one to this request",
      answer["reference"]?.text == "\(Self.method):response" && answer["requestId"]?.text == id)
    if let error = answer["error"]?.map {
      let message = error["message"]?.text ?? "it gave no reason"
      guard case .unsigned(let code)? = error["code"] else { return .refused(message) }
      return .refused("\(message) (\(code))")
    }
    let signed = answer["result"]?.map?["stxns"]?.array ?? []
    let signature = signed.first?.text.flatMap { Base64URL.decode($0.utf8) } ?? []
    verdict.check(
      "the answer has one signature of 64 bytes", signed.count == 1 && signature.count == Ed25519.signatureSize)
    let key = transaction.sender.publicKey
    verdict.check(
      "the signature is that of the address, over the transaction",
      Ed25519.isValidSignature(signature, for: transaction.signingInput, publicKey: key))
    verdict.check(
      "the same signature over other data is not valid",
      !Ed25519.isValidSignature(signature, for: transaction.signingInput + [0], publicKey: key))
    verdict.note("transaction", transaction.id)
    verdict.note("network", transaction.genesisID)
    verdict.note("signature", signature.hexadecimal)
    return .answered(verdict)
  }
}
