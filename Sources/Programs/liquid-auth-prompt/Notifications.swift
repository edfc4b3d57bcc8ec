import Assuan
import CryptoPrimitives
import Glibc
import Messages
import SessionBus

/// Asks for presence with a notification that has two buttons.
///
/// https://specifications.freedesktop.org/notification-spec/ is the interface of the notification daemon.
struct Notifications: DialogBackEnd {
  /// The user's language.
  let catalogue: Catalogue

  private static let name = "org.freedesktop.Notifications"
  private static let path = "/org/freedesktop/Notifications"
  /// How long the daemon may take to answer a call; the bus may have to start it first.
  private static let answer = Duration.seconds(3)
  /// What it must be able to do: to show buttons, and more than one line.
  private static let needed = ["actions", "body"]
  /// Daemons that have `actions`, but show the buttons only in a menu, for which they need another program: their names
  /// in GetServerInformation.
  private static let menuDaemons = ["dunst", "mako"]

  /// The keys of the two buttons, 32 random hexadecimal digits each.
  ///
  /// Another program on the bus can guess the id of the notification, and replace it with its own text and buttons. The
  /// program does not know the keys, so its buttons have no effect.
  private struct Buttons {
    let agree = Self.key()
    let refuse = Self.key()

    private static func key() -> String {
      randomBytes(16).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
  }

  /// Starts no notification daemon: at log-in, the bus could start another one than the desktop does.
  func selfTest(_ dialog: Dialog) throws(PromptError) {
    let bus = try SessionBus<PromptError>(service: Self.name, until: .now + Dialog.defaultLimit)
    do throws(PromptError) {
      _ = try capabilities(bus, for: dialog, startsDaemon: false)
    } catch {
      guard error == PromptError(SessionBusFault.noService), try bus.canStartService() else { throw error }
    }
  }

  func confirm(_ dialog: Dialog) throws(PromptError) {
    let bus = try SessionBus<PromptError>(service: Self.name, until: .now + dialog.limit)
    let (capabilities, daemon) = try capabilities(bus, for: dialog)
    // Subscribe before the notification is shown, so that no signal is missed.
    try bus.subscribe("type='signal',sender='\(daemon)',interface='\(Self.name)',path='\(Self.path)'")
    try bus.subscribeToEnd(of: daemon)
    let text = NotificationText(
      dialog, isMarkup: capabilities.contains("body-markup"), hint: dialog.acceptsMenu ? hint(bus) : nil)
    let buttons = Buttons()
    let id = try show(text, buttons, of: dialog, bus)
    do {
      try wait(for: buttons, of: id, by: daemon, bus)
    } catch {
      close(id, bus)
      throw error
    }
    // Some daemons leave a notification open after its button was pressed.
    close(id, bus)
  }

  /// Shows a notification without buttons, which the daemon closes by itself.
  func tell(_ dialog: Dialog) throws(PromptError) {
    let bus = try SessionBus<PromptError>(service: Self.name, until: .now + dialog.limit)
    let reply = try bus.call(Self.path, Self.name, "GetCapabilities", within: Self.answer)
    let isMarkup = try reply.texts("s").contains("body-markup")
    _ = try show(NotificationText(dialog, isMarkup: isMarkup), nil, of: dialog, bus)
  }

  /// What opens the menu of a daemon that shows no buttons: dunst's default.
  ///
  /// mako has none.
  private func hint(_ bus: SessionBus<PromptError>) -> String? {
    let name = try? bus.call(Self.path, Self.name, "GetServerInformation", within: Self.answer).text("s")
    guard name?.lowercased() == "dunst" else { return nil }
    return catalogue.text(Message("To answer, click here with the middle mouse button."))
  }

  /// A notification has no field for a text.
  func passphrase(_ dialog: Dialog) throws(PromptError) -> SecretBytes {
    throw PromptError(.notImplemented, "a notification cannot take a passphrase")
  }

  /// What the daemon can do, and its own name on the bus; all later calls go to it.
  private func capabilities(
    _ bus: SessionBus<PromptError>, for dialog: Dialog, startsDaemon: Bool = true
  ) throws(PromptError) -> (Set<String>, daemon: String) {
    let reply = try bus.call(
      Self.path, Self.name, "GetCapabilities", within: Self.answer, startsService: startsDaemon)
    let capabilities = Set(try reply.texts("s"))
    if let missing = Self.needed.first(where: { !capabilities.contains($0) }) {
      throw PromptError(
        .general,
        missing == "actions"
          ? "the notification daemon has no buttons (actions)" : "the notification daemon shows no text (\(missing))")
    }
    let daemon = try bus.pin(to: reply)
    if !dialog.acceptsMenu {
      let name = try bus.call(Self.path, Self.name, "GetServerInformation", within: Self.answer).text("s")
      if let menuDaemon = Self.menuDaemons.first(where: { $0 == name.lowercased() }) {
        throw PromptError(
          .general,
          "the notification daemon \(menuDaemon) shows buttons only in a menu (to use it: --prompt notifications)")
      }
    }
    return (capabilities, daemon)
  }

  /// - Parameter buttons: `nil` for a notification that asks nothing.
  /// - Returns: the notification's id.
  private func show(
    _ text: NotificationText, _ buttons: Buttons?, of dialog: Dialog, _ bus: SessionBus<PromptError>
  ) throws(PromptError) -> UInt32 {
    // A question is critical: shown even while other notifications are held back, and until it is answered. It expires, in
    // milliseconds, in case this program is killed. What asks nothing expires as the daemon decides.
    let (urgency, expiry): (UInt8, Int32) =
      buttons == nil ? (1, -1) : (2, Int32(clamping: dialog.limit.components.seconds * 1000))
    let reply = try bus.call(Self.path, Self.name, "Notify", within: Self.answer) { call throws(PromptError) in
      try call.append(dialog.title)
      try call.append(UInt32(0))
      try call.append("liquid-auth")
      try call.append(text.summary)
      try call.append(text.body)
      try call.append("a", of: "s") { () throws(PromptError) in
        // The order of GTK and GNOME's prompter, so that the same button is at the same place.
        for text in buttons.map({ [$0.refuse, dialog.refuse, $0.agree, dialog.agree] }) ?? [] {
          try call.append(text)
        }
      }
      try call.append("a", of: "{sv}") { () throws(PromptError) in
        try call.append("e", of: "sv") { () throws(PromptError) in
          try call.append("urgency")
          try call.append("v", of: "y") { () throws(PromptError) in try call.append(urgency) }
        }
      }
      try call.append(expiry)
    }
    return try reply.number()
  }

  /// Waits until a button is pressed, or the notification is closed.
  private func wait(
    for buttons: Buttons, of id: UInt32, by daemon: String, _ bus: SessionBus<PromptError>
  ) throws(PromptError) {
    let answer = try bus.wait { signal throws(PromptError) -> Result<Void, PromptError>? in
      let dbus = SessionBus<PromptError>.busName
      if signal.isSignal(dbus, "NameOwnerChanged", of: dbus) { return .failure(PromptError(SessionBusFault.noAnswer)) }
      if signal.isSignal(Self.name, "ActionInvoked", of: daemon), try signal.number() == id {
        switch try signal.text("s") {
        case buttons.agree: return .success(())
        case buttons.refuse: return .failure(PromptError(.notConfirmed, "not confirmed"))
        // A click on the text, or a button of a program that has replaced the notification.
        default: return nil
        }
      }
      if signal.isSignal(Self.name, "NotificationClosed", of: daemon), try signal.number() == id {
        // 2: the person closed it. For other reasons, the person did not close it.
        return try signal.number() == 2
          ? .failure(.closed)
          : .failure(PromptError(.general, "the notification was closed before it was answered"))
      }
      return nil
    }
    try answer.get()
  }

  /// Does not fail: the notification may be gone already.
  private func close(_ id: UInt32, _ bus: SessionBus<PromptError>) {
    _ = try? bus.call(Self.path, Self.name, "CloseNotification", within: .milliseconds(300)) {
      (call) throws(PromptError) in try call.append(id)
    }
  }
}

extension PromptError: SessionBusFailure {
  init(_ fault: SessionBusFault) {
    switch fault {
    case .noBus: self.init(.general, "there is no session bus")
    case .noService: self.init(.general, "no notification daemon runs")
    case .noAnswer: self.init(.general, "the notification daemon ended or did not answer")
    case .refused(let name): self.init(.general, "the notification daemon refused: \(name)")
    case .malformed: self.init(.general, "the notification daemon sent an invalid answer")
    case .busEnded: self.init(.general, "the session bus ended or did not answer")
    case .timedOut: self.init(.timedOut, "no answer in time")
    case .cancelled: self.init(.cancelled, "withdrawn")
    }
  }
}
