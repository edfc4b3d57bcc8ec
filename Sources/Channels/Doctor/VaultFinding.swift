package import ControlProtocol
import Glibc
import StateDirectory

/// The findings in the state directory, for when no authenticator answers.
package struct VaultFinding: Equatable {
  /// Whether there is a vault; `nil` if that cannot be found out.
  package var isThere: Bool?
  /// What is wrong with it or its store.
  package var problem: Problem?
  /// The file of the vault; `nil` if its directory is not known.
  package var path: String?

  package init(isThere: Bool?, problem: Problem? = nil, path: String? = nil) {
    (self.isThere, self.problem, self.path) = (isThere, problem, path)
  }

  /// Examines the directory; changes nothing.
  package init(at path: String) {
    do throws(StateDirectoryError) {
      try StateDirectory(opening: path).checkAtRest()
      self.init(isThere: true, path: path + "/vault")
    } catch {
      let isThere = access(path + "/vault", F_OK) == 0
      self.init(isThere: isThere || errno == ENOENT ? isThere : nil, problem: Problem(error), path: path + "/vault")
    }
  }
}
