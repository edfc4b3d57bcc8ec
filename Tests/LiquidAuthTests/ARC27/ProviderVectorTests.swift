import CBOR
import TestVectors
import Testing

@testable import LiquidAuth

@Suite struct `ARC-27 frames` {
  @Test(arguments: try ARC27Vectors.load().answered)
  func `a frame is answered byte for byte, and only what is to be signed is asked for`(item: ARC27Vectors.Answered)
    async throws
  {
    var fixture = try ProviderFixture(form: item.form == nil ? .signature : .signedTransaction)
    guard case .reply(let reply) = await fixture.provider.answer(item.frame) else {
      Issue.record("no answer")
      return
    }
    #expect(reply.frame == .text(item.reply))
    #expect(await fixture.signer.asked == item.asks)
    #expect(await fixture.signer.origins == (item.asks.isEmpty ? [] : [ProviderFixture.origin]))
  }

  @Test(arguments: try ARC27Vectors.load().answered)
  func `the same request in a binary message is answered in one, byte for byte`(item: ARC27Vectors.Answered)
    async throws
  {
    var fixture = try ProviderFixture(form: item.form == nil ? .signature : .signedTransaction)
    let request = PeerMessage.binary(try #require(Base64.decode(item.frame)))
    guard case .reply(let reply) = await fixture.provider.answer(request) else {
      Issue.record("no answer")
      return
    }
    #expect(reply.frame == .binary(try #require(Base64.decode(item.reply))))
    #expect(await fixture.signer.asked == item.asks)
  }
}
