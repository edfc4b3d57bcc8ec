import Glibc
package import Messages

extension Catalogue {
  /// The largest file that is read, bytes.
  private static let maximumSize = 1 << 20

  /// The installed catalogue for the person's locale, or English; a file that is no catalogue is left out.
  ///
  /// It is read from this program's `../share/locale`, or `../../share/locale`, whatever the environment says.
  /// - Parameter fault: gets what is wrong with a file, then what to do: lower case, no full stop.
  package static func ofPerson(fault: (String) -> Void = { _ in }) -> Catalogue {
    let directories = ["../share/locale", "../../share/locale"].compactMap(OwnProgram.path)
    for name in names(environment: environmentVariable) {
      for directory in directories {
        let path = "\(directory)/\(name)/LC_MESSAGES/liquid-auth.mo"
        guard let bytes = Descriptor.contents(of: path, atMost: maximumSize) else { continue }
        do throws(CatalogueFault) {
          return try Catalogue(mo: bytes)
        } catch {
          fault("\(path) cannot be used: \(error); install liquid-auth again")
        }
      }
    }
    return .english
  }
}
