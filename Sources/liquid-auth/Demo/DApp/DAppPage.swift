/// The page of `liquid-auth demo --dapp`, with the style of ``DemoPage``; it loads nothing from elsewhere.
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
  static let html = """
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>Liquid Auth dApp demo</title>
    <link rel="stylesheet" href="/demo.css">
    <script src="/dapp.js" defer></script>
    </head>
    <body>
    <main>
    <h1>Try your wallet</h1>
    <p>This page is a dApp on this machine only, with a Liquid Auth service of its own. Your wallet signs in, and signs one
    transaction of the test network. No network gets the transaction, and it has expired.</p>
    <noscript><p class="error">This page needs JavaScript.</p></noscript>
    <ol>
    <li>
    <section aria-labelledby="title-1">
    <h2 id="title-1">1. Open the link</h2>
    <p>Open <a id="link">this link</a>, or run the command in a terminal. The wallet asks you to sign in at “localhost”.</p>
    <dl><dt>command</dt><dd id="command"></dd></dl>
    <p>If the wallet has a passkey of an earlier demo, which this service does not know, add <code>--register</code>.</p>
    <p class="state" id="state-1" role="status" aria-live="polite"></p>
    </section>
    </li>
    <li>
    <section aria-labelledby="title-2">
    <h2 id="title-2">2. Sign a transaction</h2>
    <p id="text-2">The page asks the wallet for a signature: of a payment of 0 ALGO from your address to itself, on the test
    network.</p>
    <button type="button" id="sign" aria-describedby="text-2" disabled>Ask for a signature</button>
    <p class="state" id="state-2" role="status" aria-live="polite"></p>
    <div class="results" id="results-2"></div>
    </section>
    </li>
    </ol>
    <section aria-labelledby="end">
    <h2 id="end">End</h2>
    <p>The terminal shows each check, and how to delete the test passkey.</p>
    <button type="button" id="done">Done</button>
    <p id="result" role="status" aria-live="polite"></p>
    </section>
    </main>
    </body>
    </html>

    """
}
