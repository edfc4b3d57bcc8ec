/// The page of `liquid-auth demo --browser`, which loads nothing from elsewhere.
///
/// Its script is in a file of its own, DemoScript.swift.
enum DemoPage {
  /// The headers of every answer: no content of other sites, no frame, no cache.
  static let headers: [(name: String, value: String)] = [
    (
      "Content-Security-Policy",
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; "
        + "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"), ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Permissions-Policy", "publickey-credentials-create=(self), publickey-credentials-get=(self)"),
  ]

  /// The page.
  static let html = page(
    "Liquid Auth demo", script: "/demo.js",
    introduction: """
      <h1>Try your security key</h1>
      <p>This page is a site of its own, on this machine only. It registers a test passkey with your browser and your
      key, signs in, and shows each check that a site makes. If the browser asks where to save the passkey, choose
      “security key”.</p>
      """,
    steps: [
      step(
        1, "Register a passkey", ["passkey"], "Register",
        """
        The key makes a passkey for this page and stores its name. A dialog names the site “localhost”, and can ask for
        your passphrase or PIN.
        """),
      step(
        2, "Sign in with the passkey", ["sign-in"], "Sign in",
        """
        The page does not name an account: the key finds the passkey by itself. This needs your passphrase or PIN.
        """),
      step(
        3, "Use a second factor", ["second-factor", "second-factor-sign-in"], "Register and sign in",
        """
        The key stores nothing for this one: the page keeps its id, and sends it at the sign-in. Your confirmation is
        enough.
        """),
      step(
        4, "Get a secret (PRF)", ["prf", "prf-again"], "Get the secret twice",
        """
        A site can get a secret from a passkey, for example to encrypt your data. The page asks twice with the same salt,
        and once with another one. Only hashes of the secrets leave the page.
        """),
      step(
        5, "Register again", ["excluded"], "Try to register again",
        """
        The page sends the id of the passkey that it knows. The key then refuses to make a second one. The browser may
        show this in a dialog that you must close.
        """),
    ], ending: "The terminal shows the results, and how to delete the test passkey.")

  /// A step whose ceremonies run one after the other.
  private static func step(
    _ number: Int, _ title: String, _ ceremonies: [String], _ button: String, _ text: String
  ) -> String {
    step(
      number, title,
      """
      <p id="text-\(number)">\(text)</p>
      <button type="button" id="step-\(number)" data-ceremonies="\(ceremonies.joined(separator: " "))"
        aria-describedby="text-\(number)">\(button)</button>
      """)
  }

  // MARK: What the pages of both demos have

  /// A page with its introduction, its steps and its end.
  static func page(
    _ title: String, script: String, introduction: String, steps: [String], ending: String
  ) -> String {
    """
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>\(title)</title>
    <link rel="stylesheet" href="/demo.css">
    <script src="\(script)" defer></script>
    </head>
    <body>
    <main>
    \(introduction)
    <noscript><p class="error">This page needs JavaScript.</p></noscript>
    <ol>
    \(steps.joined(separator: "\n"))
    </ol>
    <section aria-labelledby="end">
    <h2 id="end">End</h2>
    <p>\(ending)</p>
    <button type="button" id="done">Done</button>
    <p id="result" role="status" aria-live="polite"></p>
    </section>
    </main>
    </body>
    </html>

    """
  }

  /// A step: its text and button, then its results.
  static func step(_ number: Int, _ title: String, _ content: String) -> String {
    """
    <li>
    <section aria-labelledby="title-\(number)">
    <h2 id="title-\(number)">\(number). \(title)</h2>
    \(content)
    <p class="state" id="state-\(number)" role="status" aria-live="polite"></p>
    <div class="results" id="results-\(number)"></div>
    </section>
    </li>
    """
  }

  /// The style: the colours of the system, light or dark.
  static let style = """
    :root { color-scheme: light dark; font: 1.0625rem/1.5 system-ui, sans-serif; }
    body { margin: 0; background: Canvas; color: CanvasText; }
    main { max-width: 46rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
    h1 { font-size: 1.75rem; margin: 0 0 .5rem; }
    h2 { font-size: 1.2rem; margin: 0 0 .25rem; }
    ol { list-style: none; margin: 1.5rem 0; padding: 0; }
    li > section, main > section {
      border: 1px solid color-mix(in srgb, CanvasText 25%, Canvas); border-radius: .5rem;
      padding: 1rem 1.25rem; margin: 0 0 1rem;
    }
    section p { margin: .25rem 0 .75rem; }
    button {
      font: inherit; padding: .5rem 1.25rem; border: 1px solid #1d4ed8; border-radius: .375rem;
      background: #1d4ed8; color: #fff; cursor: pointer;
    }
    button:disabled { background: transparent; color: GrayText; border-color: GrayText; cursor: default; }
    button:focus-visible { outline: 3px solid Highlight; outline-offset: 2px; }
    .results:empty { display: none; }
    .state { margin: .75rem 0 0; font-weight: 600; }
    h3 { font-size: 1rem; margin: 1rem 0 .25rem; }
    ul.checks { list-style: none; margin: 0; padding: 0; }
    ul.checks li { padding-left: 1.75rem; text-indent: -1.75rem; }
    .mark { display: inline-block; width: 1.75rem; text-indent: 0; font-weight: 700; }
    .ok .mark { color: light-dark(#15803d, #4ade80); }
    .failed, .failed .mark, .error { color: light-dark(#b91c1c, #f87171); }
    summary { cursor: pointer; margin: .5rem 0 .25rem; }
    dl { display: grid; grid-template-columns: max-content 1fr; gap: .125rem 1rem; margin: 0; font-size: .9375rem; }
    dt { color: color-mix(in srgb, CanvasText 70%, Canvas); }
    dd { margin: 0; overflow-wrap: anywhere; font-family: ui-monospace, monospace; }
    @media (max-width: 34rem) { dl { grid-template-columns: 1fr; } dd { margin: 0 0 .5rem; } }

    """
}
