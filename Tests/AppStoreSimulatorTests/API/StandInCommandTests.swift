import Foundation
import StrictJSON
import Testing

@testable import AppStoreSimulator

/// `subledger simulate serve` in process.
@Suite struct StandInCommandTests {
  private func run(_ arguments: [String]) -> (code: Int32, lines: [String]) {
    var lines: [String] = []
    let code = StandInCommand.run(
      arguments: arguments, output: { lines.append($0) }, progress: { _ in }, shouldStop: { true })
    return (code, lines)
  }

  @Test func `it prints one line of JSON, and ends when it is asked to`() throws {
    let folder = NSTemporaryDirectory() + "stand-in-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let (code, lines) = run(["--authority", folder, "--customers", "2"])
    #expect(code == 0 && lines.count == 1)
    let line = try JSONDocument(parsing: Array(#require(lines.first).utf8)).root
    #expect(
      line.members.map(\.name) == [
        "production", "sandbox", "issuerId", "keyId", "keyFile", "bundleId", "appAppleId", "root",
      ])
    #expect(line["root"]?.string?.hasPrefix("/") == true)
  }

  @Test func `wrong arguments are named and end with 2`() {
    for arguments in [
      [], ["--authority"], ["--authority", "x", "--wat"], ["--authority", "x", "--days", "0"],
      ["--authority", "x", "--notify", "https://a"], ["--authority", "x", "--control", "{"],
      ["--authority", "x", "--control", #"{"a":1}"#],
      ["--authority", "x", "--listen-sandbox", "a"],
    ] { #expect(run(arguments).code == 2) }
    #expect(run(["--authority", "/nonexistent/folder"]).code == 3)
    #expect(run(["--help"]).lines.first?.contains("Example") == true)
  }
}
