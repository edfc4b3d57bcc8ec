import LiquidAuth
import Synchronization

/// A server that returns given answers and records the requests.
final class ScriptedServer: HTTPPort {
  typealias Answer = Result<HTTPResponse, PortError>

  private struct Script {
    var answers: [Answer]
    var requests: [HTTPRequest] = []
    var limits: [Int] = []
  }

  private let script: Mutex<Script>

  init(_ answers: Answer...) { script = Mutex(Script(answers: answers)) }

  /// Every request so far.
  var requests: [HTTPRequest] { script.withLock { $0.requests } }
  /// The maximum body size of each request so far.
  var limits: [Int] { script.withLock { $0.limits } }

  func send(_ request: HTTPRequest, maximumBodySize: Int) async throws(PortError) -> HTTPResponse {
    let answer: Answer = script.withLock { script in
      script.requests.append(request)
      script.limits.append(maximumBodySize)
      return script.answers.isEmpty ? .failure(.unreachable("nobody listens")) : script.answers.removeFirst()
    }
    return try answer.get()
  }
}

extension HTTPResponse {
  /// An answer, by default with the JSON media type.
  static func json(
    _ text: String, status: Int = 201, type: String? = "application/json; charset=utf-8", _ headers: HTTPHeader...
  ) -> HTTPResponse {
    let type = type.map { [HTTPHeader("content-type", $0)] } ?? []
    return HTTPResponse(status: status, headers: type + headers, body: Array(text.utf8))
  }
}
