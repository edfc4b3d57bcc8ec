import CBOR
import CryptoPrimitives
import TestVectors
import Testing

@testable import LiquidAuth

@Suite struct `ARC-27 frames` {
  // Holds: ARC27-6, PEERARC27-1
  @Test(arguments: try ARC27Vectors.load().answered.array)
  func `a frame is answered byte for byte, and only transactions of the account are signed`(item: Vector)
    async throws
  {
    var fixture = try ProviderFixture(form: item.form.optional == nil ? .signature : .signedTransaction)
    guard case .reply(let reply) = await fixture.provider.answer(item.frame.text) else {
      Issue.record("no answer")
      return
    }
    #expect(reply.frame == .text(item.reply.text))
    #expect(await fixture.signer.asked == ARC27Vectors.asks(item))
    #expect(await fixture.signer.origins == (item.asks.array.isEmpty ? [] : [ProviderFixture.origin]))
  }

  // Holds: ARC27-4
  @Test(arguments: try ARC27Vectors.load().answered.array)
  func `a request in a binary message is answered in a binary message, byte for byte`(item: Vector)
    async throws
  {
    var fixture = try ProviderFixture(form: item.form.optional == nil ? .signature : .signedTransaction)
    let request = PeerMessage.binary(try #require(Base64.decode(item.frame.text)))
    guard case .reply(let reply) = await fixture.provider.answer(request) else {
      Issue.record("no answer")
      return
    }
    #expect(reply.frame == .binary(try #require(Base64.decode(item.reply.text))))
    #expect(await fixture.signer.asked == ARC27Vectors.asks(item))
  }
}
