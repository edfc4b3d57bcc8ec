import ControlClient
package import ControlProtocol
import Glibc
package import UHID

/// The user service of systemd that runs the authenticator: liquid-authenticator(8).
package enum UserService {
  package static let units = ["liquid-authenticator.socket", "liquid-authenticator.service"]
  /// Starts it now and with each graphical session.
  package static let enabling = ["systemctl", "--user", "enable", "--now"] + units
}

/// The Bluetooth adapter as the kernel sees it; `doctor` also asks bluetoothd whether it is on.
package enum BluetoothCondition: String, Sendable {
  case absent
  /// rfkill blocks each adapter, or has taken it away.
  case blocked
  case present
}

/// The parts of this system that the user's authenticator needs.
package struct SystemFindings: Equatable {
  /// The group to which udev gives access to `/dev/uhid` on machines without the broker.
  static let group = "liquid-auth"

  package var uhid: UHIDAccess
  /// Whether the group exists.
  package var groupExists: Bool
  /// Whether the person is one of its members.
  package var isMember: Bool
  /// Whether this session has the group's rights: a session that began before does not get them.
  package var sessionHasGroup: Bool
  /// Whether systemd is the first process: then the broker makes the device.
  package var hasSystemd: Bool
  /// Only `liquid-auth answer` needs it.
  package var bluetooth: BluetoothCondition

  package init(
    uhid: UHIDAccess, groupExists: Bool, isMember: Bool, sessionHasGroup: Bool, hasSystemd: Bool = false,
    bluetooth: BluetoothCondition = .absent
  ) {
    (self.uhid, self.groupExists, self.isMember) = (uhid, groupExists, isMember)
    (self.sessionHasGroup, self.hasSystemd, self.bluetooth) = (sessionHasGroup, hasSystemd, bluetooth)
  }

  /// The command that starts an authenticator here.
  package var starting: [String] { ControlClient.starting(uhid) }

  /// Why the device cannot appear, and what to do; `nil` when it can.
  package var uhidProblem: Problem? {
    let forbidden = "you do not have permission to open /dev/uhid"
    return switch uhid {
    case .usable: nil
    case .absent:
      Problem(
        "there is no /dev/uhid",
        hint: "load its driver with: sudo modprobe uhid (in a container, use --transport unix:PATH or pty)",
        remedy: Remedy(["sudo", "modprobe", "uhid"]))
    case .forbidden where hasSystemd:
      Problem(
        "the broker, which makes the device, cannot be reached", hint: "start its socket",
        with: ["sudo", "systemctl", "enable", "--now", "liquid-auth-broker.socket"])
    case .forbidden where !groupExists:
      Problem(forbidden, hint: "in the clone, install the udev rule", with: ["scripts/run"])
    case .forbidden where !isMember:
      Problem(
        forbidden,
        hint: "join its group with: sudo usermod --append --groups \(Self.group) \"$USER\", and log in again")
    case .forbidden where !sessionHasGroup:
      Problem(
        "you are in the group \(Self.group), but this session started before that", hint: "log in again and start",
        with: ["liquid-authenticator"])
    case .forbidden:
      Problem(
        "\(forbidden) although you are in the group \(Self.group)",
        hint: "apply the udev rule with: sudo udevadm control --reload && sudo udevadm trigger /dev/uhid",
        remedy: Remedy(["sudo", "udevadm", "control", "--reload"], ["sudo", "udevadm", "trigger", "/dev/uhid"]))
    }
  }
}

extension SystemFindings {
  /// Examines this system; opens no device, and asks no program.
  package static var current: SystemFindings {
    let record = getgrnam(group)
    var isMember = false
    var sessionHasGroup = false
    if let record {
      sessionHasGroup = currentGroups.contains(record.pointee.gr_gid)
      isMember = sessionHasGroup || members(of: record).contains(userName)
    }
    return SystemFindings(
      uhid: .current, groupExists: record != nil, isMember: isMember, sessionHasGroup: sessionHasGroup,
      hasSystemd: access("/run/systemd/system", F_OK) == 0,
      bluetooth: DoctorFindings.Bluetooth(SystemTree(root: "")).condition)
  }

  private static var currentGroups: [gid_t] {
    let count = getgroups(0, nil)
    guard count > 0 else { return [getegid()] }
    var groups = [gid_t](repeating: 0, count: Int(count))
    return Array(groups.prefix(Int(max(0, getgroups(count, &groups))))) + [getegid()]
  }

  /// The name of this user; empty if the number has none.
  package static var userName: String { getpwuid(geteuid()).map { String(cString: $0.pointee.pw_name) } ?? "" }

  private static func members(of group: UnsafeMutablePointer<Glibc.group>) -> [String] {
    var names: [String] = []
    var next = group.pointee.gr_mem
    while let pointer = next, let name = pointer.pointee {
      names.append(String(cString: name))
      next = pointer + 1
    }
    return names
  }
}
