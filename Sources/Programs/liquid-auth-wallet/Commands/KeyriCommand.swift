import ArgumentParser
import EventLoop
import Keyri
import LiquidAuth

/// `liquid-auth-wallet keyri`: accounts without a password, at services with Keyri.
struct KeyriCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "keyri",
    abstract: "Sign in to services that use Keyri.",
    discussion: """
      A service identifies you by an email address and a key. The phrase gives the key for that address on every \
      machine. All services with the same address get the same key, so one of them could pass your sign-in on to \
      another: use different addresses for services that you do not trust equally.

      The configuration file names the services. No other server is contacted:

        keyri NAME = https://app.example [APP-KEY]
        keyri-api = https://prod.api.keyri.com

      NAME is the name in the service's links, https://NAME.onekey.to?sessionId=…, or the address at which they begin. \
      Then write the address of the service's server and, for QR codes, its app key. keyri-api is Keyri's own server, \
      for QR codes.
      """,
    subcommands: [Register.self, Login.self, QR.self])

  /// Registers a key with a service.
  struct Register: WalletOperation {
    static let configuration = CommandConfiguration(
      abstract: "Register your key with a service, and get a token.",
      discussion: """
        The token, on standard output, is one of Firebase Authentication: a program that gets it signs in as you, for an \
        hour. A service that already has a key for the address does not accept another one.
        """)

    @OptionGroup var account: KeyriAccount
    @OptionGroup var options: WalletOptions

    func perform(on loop: EventLoop) async throws {
      try await withWallet(on: loop) { wallet in
        try await wallet.register(account.email, at: wallet.services.service(named: account.service))
      }
    }
  }

  /// Signs in to a service.
  struct Login: WalletOperation {
    static let configuration = CommandConfiguration(
      abstract: "Sign in to a service that has your key, and get a token.",
      discussion: "The authenticator asks you before it signs. It prints a token, as register does.")

    @OptionGroup var account: KeyriAccount
    @OptionGroup var options: WalletOptions

    func perform(on loop: EventLoop) async throws {
      try await withWallet(on: loop) { wallet in
        try await wallet.login(account.email, at: wallet.services.service(named: account.service))
      }
    }
  }

  /// Answers a browser.
  struct QR: WalletOperation {
    static let configuration = CommandConfiguration(
      commandName: "qr",
      abstract: "Confirm or refuse the login of the browser that shows a Keyri code.",
      discussion: """
        A page can show the code of another person's browser. Check the page's address before you agree: it must be the \
        page in front of you. If you refuse, the browser learns only that.
        """)

    @Argument(help: "The link, https://NAME.onekey.to?sessionId=…; - reads it from standard input.") var link: String?

    @Option(help: ArgumentHelp("Read the link from the QR code in a picture.", valueName: "file"), completion: .file())
    var image: String?

    @Option(
      name: .customLong("as"),
      help: ArgumentHelp("The email address to sign in with, if the browser does not name one.", valueName: "email"),
      transform: KeyriEmail.argument)
    var user: KeyriEmail?

    @Option(
      help: ArgumentHelp("Do not ask: agree if the page has this origin, and fail otherwise.", valueName: "origin"),
      transform: Self.origin)
    var confirm: WebOrigin?

    @Flag(help: "Do not ask: refuse.") var deny = false

    @OptionGroup var options: WalletOptions

    var files: [String] { options.files + [image].compactMap(\.self) }

    func validate() throws {
      guard (link == nil) != (image == nil) else { throw ValidationError("give one link, or --image") }
      guard confirm == nil || !deny else { throw ValidationError("give --confirm or --deny, not both") }
    }

    @Sendable private static func origin(_ text: String) throws(ValidationError) -> WebOrigin {
      do { return try WebOrigin(text) } catch { throw ValidationError(error.inConfiguration) }
    }

    func perform(on loop: EventLoop) async throws {
      let text = try await LinkSource(link: link, image: image).read()
      if let kind = LinkKind(of: text), kind != .keyri { throw kind.isAnother }
      try await withWallet(on: loop) { wallet in
        try await wallet.answer(text, confirm.map(KeyriDecision.confirm) ?? (deny ? .deny : .ask), as: user)
      }
    }
  }
}

/// The arguments that name the account and the service.
struct KeyriAccount: ParsableArguments {
  @Argument(
    help: "Your email address at the service. Another spelling gives another key.", transform: KeyriEmail.argument)
  var email: KeyriEmail

  @Option(help: ArgumentHelp("The name of the service in wallet.conf, if there are several.", valueName: "name"))
  var service: String?
}

extension KeyriEmail {
  /// Reads an argument.
  @Sendable fileprivate static func argument(_ text: String) throws(ValidationError) -> KeyriEmail {
    do { return try KeyriEmail(text) } catch { throw ValidationError(error.description) }
  }
}

extension WalletOperation {
  /// Opens the wallet's ports, and closes them when `body` returns.
  fileprivate func withWallet(
    on loop: EventLoop, _ body: (KeyriWallet) async throws -> Void
  ) async throws {
    let (output, configuration) = (options.output, try options.configuration())
    let ports = try WalletPorts(
      controlPath: options.controlPath(), in: options.place, configuration: configuration, on: loop
    ) {
      output.report(.prompt)
    }
    try await ports.closing {
      try await body(KeyriWallet(ports: ports, services: configuration.keyri, output: output))
    }
  }
}
