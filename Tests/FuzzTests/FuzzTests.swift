import AppStoreSimulator
import Foundation
import Fuzz
import Support
import Testing

/// A short run of the fuzz targets without libFuzzer: every input of the corpus, and seeded changes
/// of each, must satisfy the target's assertions.
@Suite struct FuzzTests {
  private static let rounds = TestCount.fuzzRounds.number

  /// Inputs may be empty, and `Data(contentsOf:)` loses 4 KiB of memory there.
  private static func corpus(_ name: String) throws -> [(name: String, bytes: [UInt8])] {
    let folder = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../Fuzz/Corpus/\(name)")
    return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted().map {
      let file = try FileHandle(forReadingFrom: folder.appending(path: $0))
      return ($0, Array(try file.readToEnd() ?? Data()))
    }
  }

  @Test(arguments: FuzzTarget.all.map(\.name))
  func `every input of the corpus satisfies its target`(_ name: String) throws {
    let target = try #require(FuzzTarget.named(name))
    let inputs = try Self.corpus(name)
    #expect(!inputs.isEmpty, "\(name) has no corpus")
    for input in inputs {
      #expect(target.fault(input.bytes) == nil, "\(name)/\(input.name)")
    }
  }

  @Test(arguments: FuzzTarget.all.map(\.name))
  func `seeded changes of the corpus satisfy their target`(_ name: String) throws {
    let target = try #require(FuzzTarget.named(name))
    let inputs = try Self.corpus(name).map(\.bytes)
    var random = SeededGenerator(seed: TestSeed.drawn)
    for round in 0..<Self.rounds {
      let changed = random.changed(random.pick(inputs))
      #expect(target.fault(changed) == nil, "\(name), round \(round): \(changed)")
    }
  }

  @Test func `empty and tiny inputs satisfy every target`() {
    for target in FuzzTarget.all {
      for bytes in [[], [0], [0xFF], [UInt8](repeating: 0, count: 70)] as [[UInt8]] {
        #expect(target.fault(bytes) == nil, "\(target.name)")
      }
    }
  }

}
