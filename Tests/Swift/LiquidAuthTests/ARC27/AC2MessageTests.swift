import Testing

@testable import LiquidAuth

/// Messages of AC2, and what the wallet answers.
@Suite struct AC2MessageTests {
  static let signingRequest = #"""
    {"@context":["https://ac2.io/v1"],"id":"m-1","type":"ac2/SigningRequest","from":"did:example:agent",
    "to":["did:example:user"],"created_time":1700000000,"body":{"description":"Pay","encoding":"base64","payload":"VFg="}}
    """#

  private struct Answer: Decodable {
    struct Body: Decodable { let reason: String?, code: String?, comment: String? }
    let id: String, type: String, thid: String?, pthid: String?, to: [String]?, body: Body
  }

  private func answer(_ message: PeerMessage) async throws -> (Provider.Reply, Answer) {
    var fixture = try ProviderFixture()
    guard case .reply(let reply) = await fixture.provider.answer(message) else { throw LiquidAuthError("no answer") }
    #expect(await fixture.signer.asked.isEmpty)
    let json: [UInt8]
    switch reply.frame {
    case .text(let text): json = Array(text.utf8)
    case .binary(let bytes): json = bytes
    }
    return (reply, try JSONCoding.decode(Answer.self, from: json))
  }

  // Holds: ARC27-11
  @Test func `a request for a signature is rejected in its thread, with a reason that names it`() async throws {
    let (reply, answer) = try await answer(.text(Self.signingRequest))
    #expect(reply.method == "ac2/SigningRequest" && reply.error == .methodNotSupported("ac2/SigningRequest"))
    #expect(answer.type == "ac2/SigningRejected" && answer.thid == "m-1" && answer.to == ["did:example:agent"])
    let missing = "the draft neither binds an agent to this channel, nor names forms in which a payload could be shown"
    for part in ["ac2/SigningRequest", missing] { #expect(answer.body.reason?.contains(part) == true) }
    #expect(answer.body.code == nil)
  }

  @Test func `any other message gets a problem report`() async throws {
    for type in ["ac2/KeyRequest", "ac2/StreamRequest", "ac2/"] {
      let (reply, answer) = try await answer(.binary(Array(#"{"type":"\#(type)","id":"k"}"#.utf8)))
      #expect(reply.method == type)
      #expect(answer.type == "https://didcomm.org/report-problem/2.0/problem-report" && answer.pthid == "k")
      #expect(answer.body.code == "e.m.msg.unsupported" && answer.body.comment?.contains(type) == true)
    }
  }

  @Test(arguments: [
    #"{"type":"ac2/SigningRejected"}"#, #"{"type":"ac2/SigningResponse"}"#, #"{"type":"ac3/SigningRequest"}"#,
    #"{"type":7}"#, "{}", "[1]",
  ])
  func `answers and other JSON get no answer`(_ text: String) async throws {
    var fixture = try ProviderFixture()
    #expect(await fixture.provider.answer(.text(text)) == .none(.json))
  }

  // Holds: ARC27-11
  @Test func `a long id or name is not repeated`() async throws {
    let long = String(repeating: "x", count: 129)
    let json = #"{"type":"ac2/SigningRequest","id":"\#(long)","from":"\#(long)"}"#
    let (_, answer) = try await answer(.text(json))
    #expect(answer.thid == nil && answer.to == nil)
    #expect(AC2Message(.text(#"{"type":"ac2/\#(long)"}"#)) == nil)
  }
}
