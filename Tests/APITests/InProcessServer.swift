import API
import AppStoreSimulator
import Foundation
import Glibc
import HTTPServer
import Ledger
import Platform
import SignedData
import Store
import StrictJSON
import Support
import Testing

/// The daemon in this process: ledger, service and HTTP server on a folder of their own, assembled
/// as in the executable, and called through a real socket.
final class InProcessServer: Sendable {
  static let token = "a-read-token-for-everything"
  static let authorization = "Authorization: Bearer \(token)"

  let folder: String
  let configuration: Configuration
  let ledger: Ledger
  private let service: LedgerService
  private let server: HTTPServer

  var port: UInt16 { server.port }

  /// - Parameters:
  ///   - root: the DER of a root that is trusted in addition to Apple's.
  ///   - data: nil for a new one.
  ///   - shared: the shared journal of a copy.
  ///   - readMilliseconds: of processor time that a read may use.
  init(
    root: [UInt8], reactors: Int = 1, data: DataFolder? = nil, shared: SharedAccess? = nil,
    readMilliseconds: Int64 = 60_000
  ) throws {
    folder = try Self.newFolder()
    configuration = try Self.configuration(in: folder, root: root)
    ledger = try Ledger.start(
      data ?? DataFolder(path: folder + "/data"), now: Clock.now(), shared: shared
    ) { _ in }
    service = LedgerService(
      ledger, configuration, version: "test", readMilliseconds: readMilliseconds)
    try service.startReading()
    var settings = ServerConfiguration(listen: "127.0.0.1:0")
    settings.reactors = reactors
    server = try HTTPServer.start(settings) { [service] in try LedgerHandler(service) }
  }

  deinit {
    server.drain(within: 2)
    service.stop()
    ledger.stop()
    try? FileManager.default.removeItem(atPath: folder)
  }

  static func newFolder() throws -> String {
    let path = NSTemporaryDirectory() + "subledger-test-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    return path
  }

  /// A configuration with an app in both environments and a token, read from a real file.
  static func configuration(in folder: String, root: [UInt8]) throws -> Configuration {
    let file = folder + "/subledger.json"
    try Data(root).write(to: URL(fileURLWithPath: folder + "/root.der"))
    let text = """
      {"apps":[{"bundleId":"com.example.app","appAppleId":123456789,
        "environments":["Production","Sandbox"]}],
       "trustRoots":["\(folder)/root.der"],
       "readTokens":[{"name":"all","sha256":"\(ReadAccess.digest(of: token))"}]}
      """
    try Data(text.utf8).write(to: URL(fileURLWithPath: file))
    return try Configuration.load(file: file, variables: [:], listen: nil, data: folder + "/data")
  }

  // MARK: Requests

  func post(
    _ body: [UInt8], _ headers: [String] = ["Content-Type: application/json"],
    to path: String = "/v1/notifications"
  ) -> Response? {
    var head = "POST \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    for header in headers { head += header + "\r\n" }
    head += "Content-Length: \(body.count)\r\n\r\n"
    return SocketClient.exchange(port, Array(head.utf8) + body)
  }

  func post(signedPayload: [UInt8]) -> Response? { post(ForgedJWS.body(signedPayload)) }

  func get(
    _ target: String, _ headers: [String] = [InProcessServer.authorization],
    method: String = "GET"
  ) -> Response? {
    var head = "\(method) \(target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    for header in headers { head += header + "\r\n" }
    return SocketClient.exchange(port, Array((head + "\r\n").utf8))
  }

  // MARK: State

  /// What a refusal must not change.
  struct LedgerState: Equatable {
    var head: Head
    var quarantined: Int64
  }

  func state() throws -> LedgerState {
    let reader = try JournalReader.open(ledger.folder)
    return LedgerState(head: try reader.head(), quarantined: try reader.quarantineCounts().stored)
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
}
