import ControlClient
import ControlProtocol
import EventLoop
import StateDirectory

/// Tells the authenticator whether the dApp is connected, for `liquid-auth status`, over a connection of its own that
/// lasts as long as this object.
///
/// A failure is not reported: the wallet works without it.
final class DAppReport: Sendable {
  private let feed: AsyncStream<Bool>.Continuation

  /// - Parameters:
  ///   - path: the socket's path.
  ///   - place: the place options that gave the path.
  ///   - loop: runs its task.
  init(_ path: String, in place: CommandPlace, on loop: EventLoop) {
    let (states, feed) = AsyncStream.makeStream(of: Bool.self, bufferingPolicy: .bufferingNewest(1))
    self.feed = feed
    Task(executorPreference: loop) {
      var client: ControlClient?
      for await isOpen in states {
        client = await OwnThread.run { [client] in Self.send(isOpen, over: client, to: path, in: place) }
      }
    }
  }

  deinit { end() }

  /// Reports a state; returns at once.
  func set(isOpen: Bool) { feed.yield(isOpen) }

  /// Ends the connection.
  func end() { feed.finish() }

  /// Sends a report, over a new connection if there is none or it is lost, as after a restart of the authenticator.
  ///
  /// - Returns: the connection; `nil` if there is none.
  private static func send(
    _ isOpen: Bool, over client: ControlClient?, to path: String, in place: CommandPlace
  ) -> ControlClient? {
    let report = ReportDApp(isOpen: isOpen)
    if let client, (try? client.ask(report)) != nil { return client }
    let fresh = ControlClient(path) {}
    do throws(ControlClientError) {
      try fresh.connect(in: place)
      _ = try fresh.ask(report)
      return fresh
    } catch {
      return nil
    }
  }
}
