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
        "From: 47YPQTIGQEO7T4Y4RWDYWEKV6RTR2UNBQXBABEEGM72ESWDQNCQ52OPASU",
        "To: PNWOET7LLOWMBMLE4KOCELCX6X3D3Q4H2Q4QJASYIEOF7YIPPQBG3YQ5YI",
        "Amount: 0.001000 ALGO",
        "Fee: 0.001176 ALGO",
        "! Close account: sends ALL that is left to IDUTJEUIEVSMXTU4LGTJWZ2UE2E6TIODUKU6UW3FU3UKIQQ77RLUBBBFLA",
        "Note: 8 bytes ea001547436cbf96",
        "! Network: genesis hash JgsgCaCTqIaLeVhyL6XlRu3n7Rfk2FxMeK+wRSaQ7dI=, calls itself \"devnet-v33.0\"",
        "Valid: rounds 12466 to 13466",
      ])
  }
}
