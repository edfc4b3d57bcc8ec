import ArgumentParser
import Bluetooth
import CBOR
import ControlProtocol
import EventLoop
import Glibc
import Hybrid
import LiquidAuth
import ProcessIO

/// `liquid-auth-wallet answer`: uses the passkeys of this machine in a browser on another one.
struct AnswerCommand: ParsableCommand, WalletOperation {
  static let configuration = CommandConfiguration(
    commandName: "answer",
    abstract: "Answer the FIDO:/ code of a browser on another computer: sign in there, or register.",
    usage: """
      \(LiquidAuthWalletCommand.calledName) answer [OPTION...] LINK
      \(LiquidAuthWalletCommand.calledName) answer [OPTION...] --image FILE
      """,
    discussion: """
      A browser shows such a code to invite a phone; this machine takes the phone's place. It needs Bluetooth, with \
      which the browser checks that you are nearby, and a tunnel service, through which both talk. The service learns \
      that and when two computers talk, and their addresses, but not the content. With --no-tunnel, both talk by \
      Bluetooth alone, if the browser can do that.

      Answer only codes on a screen in front of you. Whoever sends you a code, or shows it on a web page, wants to sign \
      in as you. The authenticator then shows the site, and asks you again.

      Other users of this machine can read command lines, and a code is a secret: give - and the code on standard input, \
      or --image. liquid-auth hides a code that it gets as an argument.
      """)

  @Argument(help: "The code's link, FIDO:/…; - reads it from standard input.") var link: String?

  @Option(help: ArgumentHelp("Read the link from the QR code in a picture.", valueName: "file"), completion: .file())
  var image: String?

  @Option(
    name: .customLong("tunnel"),
    help: ArgumentHelp("Reach the tunnel service at this address: wss://HOST[:PORT].", valueName: "address"))
  var tunnel: String?

  @Option(
    help: ArgumentHelp(
      "The number by which the browser finds the tunnel service: 0 (the default), 1, or 256 to 65535.",
      valueName: "number"),
    transform: Self.number)
  var tunnelNumber: UInt16?

  @Flag(help: "Use no tunnel service: the browser connects to this machine by Bluetooth, if it can.")
  var noTunnel = false

  @Flag(help: "Do not ask whether a computer in front of you shows the code.") var yes = false

  @Flag(help: "Wait for Enter at the end, so that a terminal window stays open.") var hold = false

  @OptionGroup var options: WalletOptions

  var files: [String] { options.files + [image].compactMap(\.self) }

  func validate() throws {
    guard (link == nil) != (image == nil) else { throw ValidationError("give one link, or --image") }
    guard !noTunnel || tunnel == nil && tunnelNumber == nil else {
      throw ValidationError("--no-tunnel excludes --tunnel and --tunnel-number")
    }
    guard let tunnel else { return }
    do { _ = try TunnelPlace(number: tunnelNumber, address: tunnel) } catch {
      throw ValidationError("--tunnel takes an address such as wss://tunnel.example; \(error)")
    }
  }

  @Sendable private static func number(_ text: String) throws(ValidationError) -> UInt16 {
    guard let number = UInt16(text), TunnelService(number) != nil else {
      throw ValidationError("it is 0, 1, or 256 to 65535")
    }
    return number
  }

  func perform(on loop: EventLoop) async throws {
    // The code, and the keys of the exchange, must be in no core dump.
    do { try Hardening.apply() } catch { throw WalletFailure("cannot forbid core dumps: \(error)") }
    let code = try await read(LinkSource(link: link, image: image).read())
    let output = options.output
    output.report(.hybrid(.code(code.hint, age: code.created.map(Self.age))))
    let configuration = try options.configuration()
    let place = try tunnelPlace(configuration)
    let socket = try ControlSocket(options.controlPath(), in: options.place) { output.report(.prompt) }
    var offered: Set<HybridSession.Channel> = noTunnel ? [.bluetooth] : [.tunnel]
    if configuration.bluetoothChannel == true { offered.insert(.bluetooth) }
    let session = try await self.session(of: code, place, offering: offered, socket)
    // What cannot work is found before anybody is asked.
    let advertiser: LEAdvertiser
    do throws(BluetoothFailure) { advertiser = try LEAdvertiser() } catch { throw WalletFailure(error.description) }
    // The sandbox allows no socket of Bluetooth, so this one is opened before it.
    let listener = try Self.listener(for: session.channels)
    let thread = try NetworkThread(certificateAuthorities: configuration.certificateAuthorities)
    let result: Result<Void, any Error>
    do {
      try await askPerson()
      // No other program is started from here on.
      WalletSandbox.restrictSystemCalls()
      try await HybridExchange(
        tunnel: place, network: thread, advertiser: advertiser, listener: listener, socket: socket,
        timer: TaskTimer(on: loop)
      ) {
        output.report(.hybrid($0))
      }.run(session)
      result = .success(())
    } catch {
      result = .failure(error)
    }
    await thread.close()
    try result.get()
  }

  private func read(_ text: String) throws(WalletFailure) -> FIDOURI {
    switch LinkKind(of: text) {
    case .dApp?: throw LinkKind.dApp.isAnother
    case .keyri?: throw LinkKind.keyri.isAnother
    case .browser?, nil: break
    }
    do throws(HybridError) { return try FIDOURI(text) } catch { throw WalletFailure(error) }
  }

  /// The tunnel service of the options, or of the settings.
  func tunnelPlace(_ configuration: WalletConfiguration) throws(WalletFailure) -> TunnelPlace {
    // An option replaces both settings: address and number of different services lead the browser elsewhere.
    let isGiven = tunnel != nil || tunnelNumber != nil
    let (number, address) = isGiven ? (tunnelNumber, tunnel) : (configuration.tunnelNumber, configuration.tunnel)
    do throws(WalletFailure) { return try TunnelPlace(number: number, address: address) } catch {
      // Without a tunnel, the number is only in the advert.
      guard noTunnel else { throw error }
      return try TunnelPlace(number: nil, address: nil)
    }
  }

  /// Prepares the exchange, with what the authenticator can do for another computer.
  private func session(
    of code: FIDOURI, _ place: TunnelPlace, offering offered: Set<HybridSession.Channel>, _ socket: ControlSocket
  ) async throws(WalletFailure) -> HybridSession {
    let (vault, answer): (AuthenticatorStatus.VaultCondition, [UInt8])
    do throws(PortError) {
      vault = try await socket.ask(GetStatus()).vault.condition
      // authenticatorGetInfo
      answer = try await socket.ask(PerformHybrid([0x04])).bytes
    } catch {
      throw WalletFailure(error.reason, code: socket.isNotRunning ? .notRunning : .failed)
    }
    guard vault != .missing else {
      throw WalletFailure(
        Problem("there is no vault", hint: "make one", with: ["liquid-auth", "setup"]), code: .notRunning)
    }
    let information = Array(answer.dropFirst())
    guard answer.first == 0, let members = (try? CBORDecoder.decode(information))?.map else {
      throw WalletFailure("the authenticator does not say what it can do; see its log")
    }
    guard members[4]?.map?["uv"] == true else {
      throw WalletFailure(
        "the authenticator cannot verify you, which each request of another computer needs; start it with "
          + "--verification passphrase")
    }
    do throws(HybridError) {
      return try HybridSession(code, service: place.service, offering: offered, getInfo: information)
    } catch {
      throw WalletFailure(error)
    }
  }

  /// `nil` if only the tunnel is used, also because the kernel lets no program listen.
  private static func listener(for channels: Set<HybridSession.Channel>) throws(WalletFailure) -> L2CAPListener? {
    guard channels.contains(.bluetooth) else { return nil }
    do throws(BluetoothFailure) {
      return try L2CAPListener(maximumSize: UInt16(HybridSession.Limit.message + 2))
    } catch {
      guard channels.contains(.tunnel) else { throw WalletFailure(error.description) }
      return nil
    }
  }

  /// The advert proves to the browser that this machine is nearby, so nothing is sent before the person agrees: a code
  /// that came by mail would otherwise work if a computer of the attacker is near.
  private func askPerson() async throws(WalletFailure) {
    guard !yes else { return }
    guard let question = TerminalQuestion() else {
      throw WalletFailure(
        "nothing was sent: there is no terminal to ask you on; if a computer in front of you shows the code, "
          + "give --yes",
        code: .refused)
    }
    let isMeant = await question.ask(
      "Does a computer in front of you show this code? Whoever sent you a code, or shows it on a web page, wants to\n"
        + "sign in as you. Answer it? [y/N] ")
    guard !Task.isCancelled else { throw WalletFailure("ended by a signal; nothing was sent", code: .interrupted) }
    guard isMeant else { throw WalletFailure("you refused; nothing was sent", code: .refused) }
  }

  /// The age of a code, seconds, by this machine's clock; negative if the code is from the future.
  private static func age(_ created: UInt64) -> Int64 { Int64(time(nil)) - Int64(clamping: min(created, 1 << 40)) }
}
