import Glibc
import ProcessIO
import Testing

/// Files that are read into one place.
@Suite struct DescriptorTests {
  @Test(arguments: [0, 1, 65_535, 65_536, 200_000])
  func `a secret file is read whole, or up to one byte more than the limit`(_ count: Int) throws {
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
    let file = try #require(tmpfile())
    defer { fclose(file) }
    let descriptor = fileno(file)
    #expect(Descriptor.write(bytes, to: descriptor))
    for limit in [count, count + 1, 300_000] {
      lseek(descriptor, 0, SEEK_SET)
      #expect(Descriptor.readSecret(descriptor, atMost: limit) == bytes)
    }
    if count > 1 {
      lseek(descriptor, 0, SEEK_SET)
      #expect(Descriptor.readSecret(descriptor, atMost: count - 2) == Array(bytes.dropLast()))
    }
  }

  @Test func `a secret without a size is read up to one byte more than the limit`() throws {
    let descriptor = open("/dev/zero", O_RDONLY | O_CLOEXEC)
    defer { close(descriptor) }
    #expect(Descriptor.readSecret(descriptor, atMost: 300_000) == [UInt8](repeating: 0, count: 300_001))
    #expect(Descriptor.readSecret(-1, atMost: 10) == nil)
  }
}
