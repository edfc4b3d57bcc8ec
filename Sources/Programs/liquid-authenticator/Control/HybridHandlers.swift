import ControlProtocol

/// The requests of a browser on another computer: every connection may make them, and the person decides.
enum HybridHandlers {
  static let all: [any ServedCommand.Type] = [PerformHybrid.self]
}

extension PerformHybrid: ServedCommand {
  func handle(in session: isolated ControlSession) async -> Answer {
    Answer(await session.service.respond(to: message, client: session.client, isHybrid: true))
  }
}
