// tutorial: begin
import CBOR
// tutorial: end
import Testing

@Test func `the tutorial of CBOR encodes, decodes and refuses`() throws {
  // tutorial: begin
  let parameters: CBORMap = [2: .bytes([0xAB, 0xCD]), 1: "example.com", 5: ["up": true]]
  let bytes = CBOREncoder.encode(.map(parameters))
  // tutorial: end
  #expect(bytes.prefix(3) == [0xA3, 0x01, 0x6B] && bytes.count == 24)

  // tutorial: begin
  let request = try CBORDecoder.decode(bytes).map ?? [:]
  let rpID = try request.requiredText(1)
  let hash = try request.requiredBytes(2)
  let allowList = try request.optionalArray(3)
  // tutorial: end
  #expect(request == parameters && rpID == "example.com" && hash == [0xAB, 0xCD] && allowList == nil)

  // tutorial: begin
  do throws(CBORError) {
    _ = try CBORDecoder.decode([0xA2, 0x02, 0x01, 0x01, 0x01])
    Issue.record("accepted")
  } catch {
    print(error)
    #expect(error == .invalid(""))
  }
  do throws(CBORError) {
    _ = try request.requiredBool(1)
    Issue.record("accepted")
  } catch {
    print(error)
    #expect(error == .unexpectedType(""))
  }
  // tutorial: end

  // tutorial: begin
  let fromPage: [UInt8] = [0xB9, 0x00, 0x01, 0x64, 0x6E, 0x6F, 0x74, 0x65, 0xF6]
  let message = try LooseCBORDecoder.decode(fromPage, maximumSize: 1024)
  let answer = LooseCBOREncoder.encode(["note": .null, "id": "1"])
  // tutorial: end
  #expect(message == ["note": .null] && answer.first == 0xA2)
  #expect(throws: CBORError.invalid("")) { try CBORDecoder.decode(fromPage) }
}
