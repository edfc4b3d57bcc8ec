import ArgumentParser
import EventLoop
import Glibc
import LiquidAuth
import ProcessIO

/// `liquid-auth-wallet connect`: opens a dApp's link and a channel over which the dApp requests signatures.
struct ConnectCommand: ParsableCommand, WalletOperation {
  static let configuration = CommandConfiguration(
    commandName: "connect",
    abstract: "Open a dApp's liquid:// link: sign in, and answer the dApp's requests.",
    usage: """
      \(LiquidAuthWalletCommand.calledName) connect [OPTION...] LINK
      \(LiquidAuthWalletCommand.calledName) connect [OPTION...] --image FILE
      \(LiquidAuthWalletCommand.calledName) connect [OPTION...] --again SITE
      """,
    discussion: """
      Signs in at the link's server with the passkey of this vault's first Algorand account, or registers it if the \
      server does not have it yet. Then opens a channel to the dApp, and answers its requests. If the server reports \
      who is present, the channel comes back when the dApp's page is reloaded. The command ends when you press Ctrl-C, \
      when the server refuses, or when the dApp has left and does not come back within --timeout. The authenticator shows \
      every signature and asks you before it signs. If this machine has a passkey that the server does not have, only \
      --register replaces it.

      Both sides of the channel learn each other's network addresses, and the STUN and TURN servers learn yours: see \
      --ice-server, and --no-ice-servers for a dApp on this machine or in this network.

      An event of --json has a name (event), the milliseconds since the start (ms) and other members. The last event is \
      closed, or failed with reason and code. Sources/EVENTS.md describes all events.
      """)

  @Argument(help: "The link, liquid://…; - reads it from standard input.") var link: String?

  @Option(help: ArgumentHelp("Read the link from the QR code in a picture.", valueName: "file"), completion: .file())
  var image: String?

  @Option(help: ArgumentHelp("Connect again to a dApp that is remembered, without a link.", valueName: "site"))
  var again: String?

  @Flag(help: "Remember the dApp, so that --again connects to it without a link.") var remember = false

  @Flag(help: "Register a new passkey, even if the server may have one.") var register = false

  @Flag(help: "Sign in only; do not register.") var authenticate = false

  @Flag(help: "Do not ask about a new host, about any host while the vault is locked, or about another session.")
  var yes = false

  @Flag(help: "Show long fields of transactions whole, page by page.") var showAll = false

  @Option(
    name: .customLong("ice-server"),
    help: ArgumentHelp(
      """
      A STUN or TURN server instead of the configured ones: stun:HOST or turn:HOST. May be repeated. A TURN server's \
      user and password belong in wallet.conf, as ice-server = turn:HOST USER PASSWORD: other users of this \
      machine can read command lines.
      """,
      valueName: "server"))
  var iceServer: [String] = []

  @Flag(help: "Use no STUN or TURN server.") var noIceServers = false

  @Flag(
    help: """
      Stop after the first answer. The exit status is 4 if you or a policy refused, nobody answered the prompt, or no \
      prompt could be shown.
      """) var once = false

  @Option(
    help: ArgumentHelp(
      "How long to wait for the channel, or for the dApp to come back (1 to 3600).", valueName: "seconds"),
    transform: wholeNumber(1...3600))
  var timeout: Int = 120

  @Flag(help: "Wait for Enter at the end, so that a terminal window stays open.") var hold = false

  @OptionGroup var options: WalletOptions

  var files: [String] { options.files + [image].compactMap(\.self) }

  func validate() throws {
    guard [link, image, again].count(where: { $0 != nil }) == 1 else {
      throw ValidationError("give one link, or --image, or --again")
    }
    guard again == nil || !(register || authenticate || remember) else {
      throw ValidationError("--again needs no sign-in; give it without --register, --authenticate and --remember")
    }
    guard !(register && authenticate) else { throw ValidationError("give --register or --authenticate, not both") }
    guard !(noIceServers && !iceServer.isEmpty) else {
      throw ValidationError("give --ice-server or --no-ice-servers, not both")
    }
    for text in iceServer {
      // Not a transform of the option: the parser would repeat the value, which can have a password. The message about a
      // password names wallet.conf, so it comes later.
      do {
        let url = try ICEServerURL(String(text.split(whereSeparator: \.isWhitespace).first ?? ""))
        if url.kind == .stun { _ = try ICEServerText.server(text) }
      } catch {
        throw ValidationError("--ice-server takes stun:HOST or turn:HOST; \(error)")
      }
    }
  }

  func perform(on loop: EventLoop) async throws {
    let output = options.output
    var link: LiquidURI?
    if again == nil {
      let read = try read(await LinkSource(link: self.link, image: image).read())
      output.report(.link(origin: read.origin.serialized, requestID: read.requestID.text))
      link = read
    }
    let configuration = try options.configuration()
    let servers = try iceServers(configuration)
    let ports = try WalletPorts(
      controlPath: options.controlPath(), in: options.place, configuration: configuration, on: loop
    ) {
      output.report(.prompt)
    }
    let wallet = Wallet(
      ports: ports, configuration: configuration, output: output, isAskedAboutHosts: !yes, showsAll: showAll)
    let result: Result<Void, any Error>
    do {
      try await wallet.talk(
        with: connection(to: link, wallet), iceServers: servers, timeout: .seconds(timeout), isOnce: once)
      result = .success(())
    } catch {
      result = .failure(error)
    }
    await ports.close()
    try result.get()
  }

  /// Signs in at a link's server, or takes the pairing that was kept.
  private func connection(to link: LiquidURI?, _ wallet: Wallet) async throws -> DAppConnection {
    guard let link else { return try await wallet.again(at: again ?? "") }
    let signedIn = try await wallet.signIn(link, by: ceremony)
    if remember { await wallet.remember(signedIn) }
    return DAppConnection(signedIn)
  }

  private var ceremony: LiquidCeremony? {
    if register { return .registration }
    return authenticate ? .authentication : nil
  }

  private func read(_ text: String) throws -> LiquidURI {
    switch LinkKind(of: text) {
    // With --json, an event reports the failure.
    case .browser?: throw options.json ? LinkKind.browser.isAnother : BrowserLink(text).explain()
    case .keyri?: throw LinkKind.keyri.isAnother
    case .dApp?, nil: break
    }
    return try LiquidURI(text)
  }

  private func iceServers(_ configuration: WalletConfiguration) throws(WalletFailure) -> [ICEServer] {
    guard !noIceServers else { return [] }
    guard !iceServer.isEmpty else { return configuration.iceServers ?? defaultICEServers }
    do throws(WalletFailure) {
      var servers: [ICEServer] = []
      for text in iceServer { servers.append(try configuration.iceServer(named: text)) }
      return servers
    } catch {
      throw WalletFailure("--ice-server: \(error)", code: error.code)
    }
  }
}
