import CLinux
import Glibc
import ProcessIO
import Testing

struct TerminalDeviceTests {
  private let terminal: TerminalDevice
  private let controller: TerminalDevice

  init() throws {
    var (controller, descriptor): (Int32, Int32) = (-1, -1)
    var path = [CChar](repeating: 0, count: 64)
    try #require(clinux_open_pty(&controller, &descriptor, &path, path.count) == 0)
    (self.controller, terminal) = (TerminalDevice(owning: controller), TerminalDevice(owning: descriptor))
  }

  private var settings: termios {
    var settings = termios()
    tcgetattr(terminal.descriptor, &settings)
    return settings
  }

  @Test func `giveBack() restores changed terminal settings, and only then`() throws {
    let before = settings.c_lflag
    let hide = { (settings: inout termios) in settings.c_lflag ^= tcflag_t(ECHO) }
    try terminal.withSettings(hide, begin: TCSANOW, end: TCSANOW, refused: \.self) { () throws(SystemNumber) in
      #expect(settings.c_lflag == before ^ tcflag_t(ECHO))
      TerminalDevice.giveBack()
      #expect(settings.c_lflag == before)
    }
    var another = settings
    hide(&another)
    tcsetattr(terminal.descriptor, TCSANOW, &another)
    TerminalDevice.giveBack()
    #expect(settings.c_lflag == before ^ tcflag_t(ECHO))
  }

  // Holds: INPUT-16
  @Test func `giveBack() restores the settings from before the outer of two changes`() throws {
    let before = settings.c_lflag
    try changing(ECHO) { () throws(SystemNumber) in
      try changing(ICANON) { () throws(SystemNumber) in
        #expect(settings.c_lflag == before ^ tcflag_t(ECHO | ICANON))
        TerminalDevice.giveBack()
        #expect(settings.c_lflag == before)
      }
      #expect(settings.c_lflag == before ^ tcflag_t(ECHO))
      TerminalDevice.giveBack()
      #expect(settings.c_lflag == before, "the outer change is not over")
    }
    #expect(settings.c_lflag == before)
  }

  /// Runs `body` with one flag of the terminal changed.
  private func changing(_ flag: Int32, _ body: () throws(SystemNumber) -> Void) throws(SystemNumber) {
    let change = { (settings: inout termios) in settings.c_lflag ^= tcflag_t(flag) }
    try terminal.withSettings(change, begin: TCSANOW, end: TCSANOW, refused: \.self, body)
  }
}
