import LiquidAuth
import Synchronization
import Testing

@testable import liquid_auth_wallet

struct FirstUseGateTests {
  private let diary = Diary()
  private let request = HTTPRequest(method: .get, url: "https://a.example/")

  private func gate(refusal: String?) -> FirstUseGate {
    FirstUseGate(diary) { [diary] host in
      diary.write("asked about \(host)")
      return refusal
    }
  }

  // Holds: DAPPSERVER-5
  @Test func `progress is reported after consent`() async throws {
    let gate = gate(refusal: nil)
    gate.report { diary.write("first use") }
    gate.close(for: "a.example")
    gate.report { diary.write("asking the server") }
    _ = try await gate.send(request, maximumBodySize: 1)
    gate.report { diary.write("sending the answer to the server") }
    _ = try await gate.send(request, maximumBodySize: 1)
    #expect(
      diary.lines == [
        "first use", "asked about a.example", "asking the server", "sent", "sending the answer to the server", "sent",
      ])
    #expect(gate.refusal == nil)
  }

  // Holds: DAPPSERVER-5
  @Test func `after a refusal, nothing is sent or reported`() async {
    let gate = gate(refusal: "no")
    gate.close(for: "a.example")
    gate.report { diary.write("asking the server") }
    for _ in 1...2 {
      await #expect(throws: PortError.self) { try await gate.send(request, maximumBodySize: 1) }
    }
    #expect(diary.lines == ["asked about a.example"])
    #expect(gate.refusal == "no")
  }
}

/// A server that accepts everything, and a log of the events in order.
private final class Diary: HTTPPort {
  private let state = Mutex<[String]>([])

  var lines: [String] { state.withLock(\.self) }

  func write(_ line: String) { state.withLock { $0.append(line) } }

  func send(_ request: HTTPRequest, maximumBodySize: Int) async throws(PortError) -> HTTPResponse {
    write("sent")
    return HTTPResponse(status: 200)
  }
}
