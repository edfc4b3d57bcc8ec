import CPSL
import LiquidAuth
import NIOCore
import NIOPosix
import StateDirectory

/// All ports of the wallet, opened and closed together.
struct WalletPorts: Sendable {
  let http: HTTPExchanges
  let webSockets: WebSockets
  let peerConnections = GStreamerPeerConnections()
  let publicSuffixes: PublicSuffixList
  let timer: EventLoopTimer
  let socket: ControlSocket
  /// The threads on which requests to the authenticator and the terminal wait.
  let thread: NIOThreadPool
  private let group: MultiThreadedEventLoopGroup

  /// Makes the ports; opens no connection.
  init(
    controlPath: String, in place: CommandPlace, configuration: WalletConfiguration,
    onPrompt: @escaping @Sendable () -> Void
  ) throws(WalletFailure) {
    let policy = try TLSPolicy(certificateAuthorities: configuration.certificateAuthorities)
    publicSuffixes = try PublicSuffixList()
    group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    // This can fail, so it comes before the parts that need a shutdown.
    webSockets = try WebSockets(on: group, policy)
    thread = NIOThreadPool(numberOfThreads: 2)
    thread.start()
    // Loaded in the background, to be ready when it is needed.
    thread.submit { [peerConnections] _ in peerConnections.loadAhead() }
    http = HTTPExchanges(on: group, policy)
    timer = EventLoopTimer(on: group.next())
    socket = ControlSocket(controlPath, in: place, thread: thread, onPrompt: onPrompt)
  }

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
      result = .failure(isNotRunning ? WalletFailure(failure.description, code: .notRunning) : error)
    }
    await close()
    try result.get()
  }

  /// Closes all ports; returns when they are closed.
  func close() async {
    await peerConnections.open.drained()
    await http.close()
    try? await thread.shutdownGracefully()
    try? await group.shutdownGracefully()
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

/// A timer with an event loop's tasks.
struct EventLoopTimer: TimerPort {
  private let loop: any EventLoop
  private let start = ContinuousClock.now

  init(on loop: any EventLoop) { self.loop = loop }

  var now: Duration { ContinuousClock.now - start }

  func wake(after delay: Duration, deliver: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    let alarm = loop.scheduleTask(in: TimeAmount(max(.zero, delay))) { deliver() }
    return { alarm.cancel() }
  }
}
