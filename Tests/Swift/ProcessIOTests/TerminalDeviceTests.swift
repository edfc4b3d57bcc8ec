import CLinux
import Glibc
import ProcessIO
import Testing

struct TerminalDeviceTests {
  @Test func `giveBack() restores changed terminal settings, and only then`() throws {
    var (controller, descriptor): (Int32, Int32) = (-1, -1)
    var path = [CChar](repeating: 0, count: 64)
    try #require(clinux_open_pty(&controller, &descriptor, &path, path.count) == 0)
    defer { close(controller) }
    let terminal = TerminalDevice(owning: descriptor)
    var settings: termios {
      var settings = termios()
      tcgetattr(descriptor, &settings)
      return settings
    }
    let before = settings.c_lflag
    let hide = { (settings: inout termios) in settings.c_lflag ^= tcflag_t(ECHO) }
    try terminal.withSettings(hide, begin: TCSANOW, end: TCSANOW, refused: \.self) { () throws(SystemNumber) in
      #expect(settings.c_lflag == before ^ tcflag_t(ECHO))
      TerminalDevice.giveBack()
      #expect(settings.c_lflag == before)
    }
    var another = settings
    hide(&another)
    tcsetattr(descriptor, TCSANOW, &another)
    TerminalDevice.giveBack()
    #expect(settings.c_lflag == before ^ tcflag_t(ECHO))
  }
}
