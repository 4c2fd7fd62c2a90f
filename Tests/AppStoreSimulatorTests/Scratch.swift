import Foundation
import Platform
import SignedData
import StrictJSON
import Testing

/// A temporary folder that is removed with the object.
final class Scratch {
  private let folder: String

  init() throws {
    folder = NSTemporaryDirectory() + "simulator-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  func file(_ name: String) -> String { folder + "/" + name }

  func write(_ name: String, _ bytes: [UInt8]) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: file(name)))
  }
}

/// Standard output of the openssl tool, which reads independently what the simulator signs.
func openssl(_ arguments: String...) throws -> String {
  let quoted = (["/usr/bin/openssl"] + arguments).map { "'\($0)'" }
  let output = try #require(popen(quoted.joined(separator: " "), "r"))
  var bytes: [UInt8] = []
  while case let byte = getc(output), byte != EOF { bytes.append(UInt8(byte)) }
  #expect(pclose(output) == 0)
  return String(decoding: bytes, as: UTF8.self)
}

/// The payload of a compact JWS.
func decoded(_ jws: String) throws -> JSONDocument {
  let parts = jws.split(separator: ".")
  return try JSONDocument(parsing: #require(Base64URL.decode(Array(parts[1].utf8))))
}

/// A signature R ‖ S as the SEQUENCE of two INTEGERs that the openssl tool reads.
func ecdsaDER(_ raw: [UInt8]) -> [UInt8] {
  let numbers = [raw.prefix(32), raw.suffix(32)].map { half -> [UInt8] in
    let digits = Array(half.drop { $0 == 0 })
    let number = (digits.first.map { $0 >= 0x80 } ?? true) ? [0] + digits : digits
    return [2, UInt8(number.count)] + number
  }
  return [0x30, UInt8(numbers[0].count + numbers[1].count)] + numbers[0] + numbers[1]
}
