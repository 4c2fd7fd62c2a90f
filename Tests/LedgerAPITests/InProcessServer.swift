import Configuration
import Foundation
import Glibc
import HTTPServer
import JournalStore
import LedgerAPI
import LedgerEngine
import Platform
import SignedData
import Simulator
import StrictJSON
import Support
import Testing

/// The daemon in this process: ledger, service and server on a folder of its own, put together as
/// the executable does it, and asked through a real socket.
final class InProcessServer: Sendable {
  static let token = "a-read-token-for-everything"
  static let sandboxToken = "a-read-token-for-the-sandbox"

  let folder: String
  let configuration: Configuration
  let ledger: Ledger
  let server: HTTPServer

  /// - Parameter root: DER of the root that is trusted beside Apple's.
  init(root: [UInt8], reactors: Int = 1) throws {
    folder = try Self.newFolder()
    configuration = try Self.configuration(in: folder, root: root)
    ledger = try Ledger.start(DataFolder(path: folder + "/data"), now: Clock.now()) { _ in }
    let service = LedgerService(ledger, configuration, version: [("version", .string("test"))])
    var settings = ServerConfiguration(listen: "127.0.0.1:0")
    settings.reactors = reactors
    server = try HTTPServer.start(settings) { try LedgerHandler(service) }
  }

  deinit {
    server.drain(within: 2)
    ledger.stop()
    try? FileManager.default.removeItem(atPath: folder)
  }

  static func newFolder() throws -> String {
    let path = NSTemporaryDirectory() + "door-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    return path
  }

  /// Two apps, and tokens, from a real file: `com.example.app` in both environments with an
  /// appAppleId, `com.example.sandbox` in the sandbox alone.
  static func configuration(in folder: String, root: [UInt8]) throws -> Configuration {
    let file = folder + "/subledger.json"
    try Data(root).write(to: URL(fileURLWithPath: folder + "/root.der"))
    let text = """
      {"apps":[{"bundleId":"com.example.app","appAppleId":123456789,
        "environments":["Production","Sandbox"]},
        {"bundleId":"com.example.sandbox","environments":["Sandbox"]}],
       "trustRoots":["\(folder)/root.der"],
       "readTokens":[{"name":"all","sha256":"\(ReadAccess.digest(of: token))"},
        {"name":"sandbox","sha256":"\(ReadAccess.digest(of: sandboxToken))",
         "environments":["Sandbox"]}]}
      """
    try Data(text.utf8).write(to: URL(fileURLWithPath: file))
    return try Configuration.load(file: file, variables: [:], listen: nil, data: folder + "/data")
  }

  // MARK: QueryOptions

  func post(_ body: [UInt8], _ headers: [String] = ["Content-Type: application/json"]) -> Reply? {
    var head = "POST /v1/notifications HTTP/1.1\r\nHost: door\r\nConnection: close\r\n"
    for header in headers { head += header + "\r\n" }
    head += "Content-Length: \(body.count)\r\n\r\n"
    return Wire.ask(server.port, Array(head.utf8) + body)
  }

  func post(signedPayload: [UInt8]) -> Reply? { post(ForgedJWS.body(signedPayload)) }

  func get(
    _ target: String, _ headers: [String] = ["Authorization: Bearer \(InProcessServer.token)"],
    method: String = "GET"
  ) -> Reply? {
    var head = "\(method) \(target) HTTP/1.1\r\nHost: door\r\nConnection: close\r\n"
    for header in headers { head += header + "\r\n" }
    return Wire.ask(server.port, Array((head + "\r\n").utf8))
  }

  // MARK: Looking

  /// What a refusal must not move.
  struct Stand: Equatable {
    var head: Head
    var quarantined: Int64
  }

  func stand() throws -> Stand {
    let reader = try JournalReader.open(ledger.folder)
    return Stand(head: try reader.head(), quarantined: try reader.quarantineCounts().kept)
  }

  /// The sum of a counter over all its labels.
  func count(_ prefixes: String...) throws -> Int {
    let text = try #require(get("/metrics")?.text)
    var sum = 0
    for line in text.split(separator: "\n") where prefixes.contains(where: line.hasPrefix) {
      sum += Int(line.split(separator: " ").last ?? "") ?? 0
    }
    return sum
  }

  private func refusals() throws -> Int {
    try count("subledger_refusals_total", "subledger_http_refusals_total")
  }

  // MARK: The default of every row

  /// The table's default: this status, nothing journaled, quarantine as it was (one more for 422),
  /// a problem with a code, nothing of the request in it, and one refusal more counted.
  func refuses(
    _ body: [UInt8], _ status: Int, _ codes: [String] = [], _ row: String,
    headers: [String] = ["Content-Type: application/json"],
    at place: SourceLocation = #_sourceLocation
  ) throws {
    let before = try stand()
    let counted = try refusals()
    let reply = post(body, headers)
    #expect(reply?.status == status, "\(row): \(reply?.text ?? "no answer")", sourceLocation: place)
    guard let reply else { return }
    reply.expectProblem(row, codes, place)
    #expect(!reply.repeats(body), "\(row) is echoed", sourceLocation: place)
    let after = try stand()
    #expect(after.head == before.head, "\(row) is journaled", sourceLocation: place)
    #expect(
      after.quarantined == before.quarantined + (status == 422 ? 1 : 0), "\(row): quarantine",
      sourceLocation: place)
    #expect(try refusals() == counted + 1, "\(row) is not counted", sourceLocation: place)
  }

  func refuses(
    signedPayload: [UInt8], _ status: Int, _ codes: [String] = [], _ row: String,
    at place: SourceLocation = #_sourceLocation
  ) throws {
    try refuses(ForgedJWS.body(signedPayload), status, codes, row, at: place)
  }

  /// 200 and one row more.
  func accepts(
    _ body: [UInt8], _ row: String, at place: SourceLocation = #_sourceLocation
  ) throws {
    let before = try stand()
    let reply = post(body)
    #expect(reply?.status == 200, "\(row): \(reply?.text ?? "none")", sourceLocation: place)
    #expect(reply?.text.contains("accepted") == true, "\(row)", sourceLocation: place)
    let after = try stand()
    #expect(after.head.seq == before.head.seq + 1, "\(row)", sourceLocation: place)
    #expect(after.quarantined == before.quarantined, "\(row)", sourceLocation: place)
  }

  func accepts(
    signedPayload: [UInt8], _ row: String, at place: SourceLocation = #_sourceLocation
  ) throws {
    try accepts(ForgedJWS.body(signedPayload), row, at: place)
  }
}
