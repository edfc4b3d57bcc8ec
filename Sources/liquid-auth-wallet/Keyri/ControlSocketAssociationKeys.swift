import ControlDoor
import CryptoPrimitives
import LiquidAuth

/// The association keys of our authenticator, behind its control socket.
struct ControlSocketAssociationKeys: AssociationKeys {
  let socket: ControlSocket

  func publicKey(publicUserID: String) async throws(PortError) -> P256.PublicKey {
    let raw: AssociationPublicKey = try await ask(.associationKey(publicUserID: publicUserID))
    do {
      return try P256.PublicKey(x: Array(raw.bytes.prefix(P256.fieldSize)), y: Array(raw.bytes.suffix(P256.fieldSize)))
    } catch {
      throw .refused("the authenticator answers with what is no key of P-256; see its log")
    }
  }

  func sign(_ data: [UInt8], publicUserID: String, service: String) async throws(PortError) -> [UInt8] {
    let association = AssociationToSign(publicUserID: publicUserID, data: data, service: service)
    let signature: WalletSignature = try await ask(.signAssociation(association))
    return signature.bytes
  }

  private func ask<Answer: ControlAnswer>(_ request: ControlRequest) async throws(PortError) -> Answer {
    do {
      return try await socket.ask(request)
    } catch {
      throw PortError(error)
    }
  }
}
