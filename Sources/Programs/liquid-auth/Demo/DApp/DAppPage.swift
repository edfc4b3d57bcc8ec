/// The page of `liquid-auth demo --dapp`, of the parts that ``DemoPage`` has; it loads nothing from elsewhere.
enum DAppPage {
  /// The headers of every answer.
  ///
  /// Not every browser takes the web socket of a page's own server for `'self'`.
  static func headers(host: String) -> [(name: String, value: String)] {
    DemoPage.headers.map { name, value in
      (name, value.replacing("connect-src 'self';", with: "connect-src 'self' ws://\(host);"))
    }
  }

  /// The page.
  static let html = DemoPage.page(
    "Liquid Auth dApp demo", script: "/dapp.js",
    introduction: """
      <h1>Try your wallet</h1>
      <p>This page is a dApp on this machine only, with a Liquid Auth service of its own. Your wallet signs in, and signs
      one transaction of the test network. The transaction is not sent to the network, and has expired.</p>
      """,
    steps: [
      DemoPage.step(
        1, "Open the link",
        """
        <p>Open <a id="link">this link</a>, or run the command in a terminal. The wallet asks you to sign in at
        “localhost”.</p>
        <dl><dt>command</dt><dd id="command"></dd></dl>
        <p>If the wallet has a passkey of an earlier demo, which this service does not know, add
        <code>--register</code>.</p>
        """),
      DemoPage.step(
        2, "Sign a transaction",
        """
        <p id="text-2">The page asks the wallet for a signature: of a payment of 0 ALGO from your address to itself, on
        the test network.</p>
        <button type="button" id="sign" aria-describedby="text-2" disabled>Ask for a signature</button>
        """),
    ], ending: "The terminal shows each check, and how to delete the test passkey.")
}
