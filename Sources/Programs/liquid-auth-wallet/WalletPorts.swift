import CPSL
import CTAPHID
import EventLoop
import LiquidAuth
import StateDirectory

/// All ports of the wallet, opened and closed together.
struct WalletPorts: Sendable {
  let http: HTTPExchanges
  let webSockets: WebSockets
  let peerConnections = GStreamerPeerConnections()
  let publicSuffixes: PublicSuffixList
  let timer: TaskTimer
  let socket: ControlSocket
  private let network: NetworkThread
  /// Loads GStreamer.
  private let loading: Task<Void, Never>

  /// Makes the ports; opens no connection.
  ///
  /// - Parameter loop: runs the tasks of the ports.
  init(
    controlPath: String, in place: CommandPlace, configuration: WalletConfiguration, on loop: EventLoop,
    onPrompt: @escaping @Sendable () -> Void
  ) throws(WalletFailure) {
    timer = TaskTimer(on: loop)
    publicSuffixes = try PublicSuffixList()
    // After the parts that can fail and need no shutdown.
    network = try NetworkThread(certificateAuthorities: configuration.certificateAuthorities)
    webSockets = WebSockets(on: network)
    http = HTTPExchanges(on: network)
    socket = ControlSocket(controlPath, in: place, onPrompt: onPrompt)
    // In the background, to be ready when it is needed.
    loading = Task(executorPreference: loop) { [peerConnections] in
      await OwnThread.run { peerConnections.loadAhead() }
    }
  }

  /// Returns when GStreamer was loaded, or found missing.
  func loaded() async { await loading.value }

  /// Makes a report of the connection to a dApp.
  func dAppReport() -> DAppReport { socket.dAppReport(on: timer.loop) }

  /// Runs `body`, and closes all ports.
  ///
  /// - Throws: what `body` throws; if no authenticator runs, or it has no vault, a failure with the code `notRunning`.
  func closing(after body: () async throws -> Void) async throws {
    let result: Result<Void, any Error>
    do {
      result = .success(try await body())
    } catch {
      let failure = WalletFailure(ending: error)
      let isNotRunning = failure.code == .failed && socket.isNotRunning
      result = .failure(isNotRunning ? WalletFailure(failure.problem, code: .notRunning) : error)
    }
    await close()
    try result.get()
  }

  /// Closes all ports; returns when they are closed.
  func close() async {
    await peerConnections.open.drained()
    await network.close()
    await loading.value
  }
}

// MARK: - Other adapters

/// The list of public suffixes of the distribution, by libpsl.
final class PublicSuffixList: PublicSuffixes {
  private nonisolated(unsafe) let list: OpaquePointer

  /// Reads the newest installed list, or the one in the library.
  init() throws(WalletFailure) {
    guard let list = psl_latest(nil) else {
      throw WalletFailure("there is no list of public suffixes; install publicsuffix")
    }
    self.list = list
  }

  deinit { psl_free(list) }

  func isPublicSuffix(_ domain: String) -> Bool { psl_is_public_suffix(list, domain) != 0 }
}

/// A timer with tasks that sleep on a loop.
struct TaskTimer: TimerPort {
  /// Runs the tasks; others may run on it too.
  let loop: EventLoop
  private let start: Instant

  init(on loop: EventLoop) { (self.loop, start) = (loop, loop.now) }

  var now: Duration { start.duration(to: loop.now) }

  func wake(after delay: Duration, deliver: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    let end = loop.now.advanced(by: max(.zero, delay))
    let alarm = Task(executorPreference: loop) { [loop] in
      do { try await loop.sleep(until: end) } catch { return }
      deliver()
    }
    return { alarm.cancel() }
  }
}
