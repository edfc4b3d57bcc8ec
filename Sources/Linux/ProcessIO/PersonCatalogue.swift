import Glibc
package import Messages

extension Catalogue {
  /// The largest size of a file that is read, in bytes.
  private static let maximumSize = 1 << 20

  /// The installed catalogue for the user's locale, or English.
  ///
  /// A file with a fault is not used. Files are read from `../share/locale` or `../../share/locale`, relative to the
  /// directory of the program. The environment does not change this.
  ///
  /// - Parameter fault: gets a line about each file with a fault: what is wrong, then what to do.
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
