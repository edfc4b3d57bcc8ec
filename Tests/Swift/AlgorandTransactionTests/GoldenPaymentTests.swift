import AlgorandTransaction
import CryptoPrimitives
import DeterministicKeys
import TestVectors
import Testing

/// The payment that the tests of Algorand's SDK check, with its signature and id.
@Suite struct GoldenPaymentTests {
  private let vector: Vector
  init() throws { vector = try Vector("algorand").payment }

  @Test func `the payment has its id, and its signature is over "TX" and the bytes`() throws {
    let transaction = try Transaction(decoding: vector.txnBase64.base64)
    #expect(transaction.id == vector.txid.text)
    #expect(transaction.bytes == vector.txnBase64.base64)
    #expect(
      Ed25519.isValidSignature(
        vector.signature.bytes, for: transaction.signingInput, publicKey: transaction.sender.publicKey))
    let signed = SignedTransaction(transaction, signature: vector.signature.bytes, signer: transaction.sender)
    #expect(signed.bytes == vector.signedTxnBase64.base64)
    #expect(try SignedTransaction(decoding: signed.bytes) == signed)
  }

  @Test func `the summary of the payment has these lines`() throws {
    let summary = try Transaction(decoding: vector.txnBase64.base64).summary
    #expect(
      summary.map(\.text) == [
        "Transaction: payment",
        "From: 47YP QTIG QEO7 T4Y4 RWDY WEKV 6RTR 2UNB QXBA BEEG M72E SWDQ NCQ5 2OPASU",
        "To: PNWO ET7L LOWM BMLE 4KOC ELCX 6X3D 3Q4H 2Q4Q JASY IEOF 7YIP PQBG 3YQ5YI",
        "Amount: 0.001000 ALGO",
        "Fee: 0.001176 ALGO",
        "! Close account: sends ALL that is left to "
          + "IDUT JEUI EVSM XTU4 LGTJ WZ2U E2E6 TIOD UKU6 UW3F U3UK IQQ7 7RLU BBBFLA",
        "Note: 8 bytes ea001547436cbf96",
        "! Network: genesis hash JgsgCaCTqIaLeVhyL6XlRu3n7Rfk2FxMeK+wRSaQ7dI=, calls itself \"devnet-v33.0\"",
        "Valid: rounds 12466 to 13466",
      ])
  }
}
