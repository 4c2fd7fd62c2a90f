import Clients
import Foundation
import HTTPServer
import Platform
import SignedData
import StrictJSON
import Support
import Synchronization
import Testing

@testable import AppStoreSimulator

/// A service in this process, with a client that has its key.
final class LocalAppStore {
  let folder = NSTemporaryDirectory() + "app-store-\(UUID().uuidString)"
  let service: SimulatedAppStore
  let key: SigningKey
  let description: JSONValue

  /// - Parameters:
  ///   - lifecycles: their names.
  ///   - behind: days that the simulated clock begins behind the wall clock.
  ///   - refunds: of how many purchases the customer asks for the money back.
  init(
    customers: Int, days: Int64 = 400, lifecycles: [String] = [], behind: Int64 = 0,
    refunds: Double? = nil,
    before: String = SendAttempt.success, notify: String? = nil, control: String = "{}"
  ) throws {
    var options = SimulatedAppStore.Options(authority: folder)
    (options.customers, options.days, options.before) = (customers, days, before)
    options.lifecycles = try lifecycles.map { try #require(Lifecycle.named($0)) }
    options.behind = behind * 86_400_000
    options.refunds = refunds
    options.notify = try notify.map { try #require(ServiceURL($0)) }
    try options.control(JSONDocument(parsing: Array(control.utf8)).root)
    service = try SimulatedAppStore(options) { _ in }
    description = service.description
    let file = try #require(description.text("keyFile"))
    key = try .read(pem: Array(Data(contentsOf: URL(fileURLWithPath: file))))
  }

  deinit {
    service.stop()
    try? FileManager.default.removeItem(atPath: folder)
  }

  func port(_ environment: String) throws -> UInt16 {
    let text = try #require(description.text(environment))
    return try #require(UInt16(text.split(separator: ":").last ?? ""))
  }

  /// A token with changed header and claims; a claim that is null is left out.
  func token(
    _ header: [String: JSONValue] = [:], _ claims: [String: JSONValue] = [:],
    key: SigningKey? = nil
  ) throws -> String {
    let now = Int64(Date().timeIntervalSince1970)
    var head: [String: JSONValue] = [
      "alg": .string("ES256"), "kid": .string(description.text("keyId") ?? ""),
      "typ": .string("JWT"),
    ]
    var body: [String: JSONValue] = [
      "iss": .string(description.text("issuerId") ?? ""), "iat": .integer(now - 30),
      "exp": .integer(now + 300), "aud": .string("appstoreconnect-v1"),
      "bid": .string("com.example.app"),
    ]
    head.merge(header) { $1 }
    body.merge(claims) { $1 }
    let present = body.filter { if case .null = $0.value { false } else { true } }
    let parts = [head, present].map { members in
      let bytes = JSONValue.object(members.map { ($0.key, $0.value) }).bytes
      return String(decoding: Base64URL.encode(bytes), as: UTF8.self)
    }
    let input = parts.joined(separator: ".")
    let signature = try (key ?? self.key).sign(Array(input.utf8))
    return input + "." + String(decoding: Base64URL.encode(signature), as: UTF8.self)
  }

  func ask(
    _ method: String, _ path: String, _ body: String = "", on environment: String = "production",
    authorization: String? = nil, type: String = "application/json"
  ) throws -> Client.Answer {
    let field = try authorization ?? "Bearer \(token())"
    let head = """
      \(method) \(path) HTTP/1.1\r\nHost: x\r\nAuthorization: \(field)\r\nContent-Type: \(type)\r
      Content-Length: \(body.utf8.count)\r\n\r\n
      """
    return try #require(
      Client(port: port(environment)).send(head, Array(body.utf8)), "\(method) \(path)")
  }

  func get(_ path: String, on environment: String = "production") throws -> Client.Answer {
    try ask("GET", path, on: environment)
  }

  func control(_ document: String) throws -> JSONElement {
    let answer = try ask("POST", "/control", document)
    #expect(answer.status == 200, "\(answer.text)")
    return try #require(answer.json)
  }

  /// One page of the notification history.
  func history(
    _ body: String, token: String? = nil, on environment: String = "production"
  ) throws -> Client.Answer {
    let query = token.map { "?paginationToken=\($0)" } ?? ""
    return try ask("POST", "/inApps/v1/notifications/history\(query)", body, on: environment)
  }

  /// All items of the notification history.
  func allItems(_ body: String) throws -> [JSONElement] {
    var items: [JSONElement] = []
    var token: String?
    repeat {
      let page = try #require(try history(body, token: token).json)
      items += page["notificationHistory"]?.elements ?? []
      token = page["hasMore"]?.boolean == true ? page["paginationToken"]?.string : nil
    } while token != nil
    return items
  }

  static func now() -> Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

  /// A request body for the days before now.
  static func body(days: Int64, _ more: String = "") -> String {
    #"{"startDate":\#(now() - days * 86_400_000 + 60_000),"endDate":\#(now() + 60_000)\#(more)}"#
  }
}

/// The payload of a JWS, which is not verified.
func payload(_ jws: JSONElement?) throws -> JSONElement {
  let parts = try #require(jws?.string).split(separator: ".")
  try #require(parts.count == 3)
  return try JSONDocument(parsing: #require(Base64URL.decode(Array(parts[1].utf8)))).root
}

func expect(
  _ answer: Client.Answer, isError code: Int64, _ location: SourceLocation = #_sourceLocation
) {
  #expect(answer.status == Int(code / 10_000), sourceLocation: location)
  #expect(answer.json?["errorCode"]?.integer == code, "\(answer.text)", sourceLocation: location)
  #expect(answer.json?["errorMessage"]?.string?.isEmpty == false, sourceLocation: location)
  #expect(answer.field("Content-Type") == "application/json", sourceLocation: location)
}

/// Receives notifications and answers each with the same status.
final class Receiver: Sendable {
  let status = Atomic<Int>(200)
  let bodies = Mutex<[String]>([])

  final class Handler: RequestHandler {
    struct Context {}
    let receiver: Receiver
    init(_ receiver: Receiver) { self.receiver = receiver }
    func admit(_ head: RequestHead) -> Admission<Context> { .body(limit: 1 << 20, Context()) }
    func isQueued(_ context: Context) -> Bool { false }
    func respond(
      to request: HTTPRequest, _ context: Context, through sender: ResponseSender
    ) -> HTTPResponse? {
      receiver.bodies.withLock { $0.append(String(decoding: request.body, as: UTF8.self)) }
      return HTTPResponse(status: receiver.status.load(ordering: .relaxed))
    }
    func refuse(status: Int) -> HTTPResponse { HTTPResponse(status: status) }
    func recordRefusal(status: Int) {}
    func recordConnection(_ change: ConnectionChange) {}
  }

  func start() throws -> HTTPServer {
    var configuration = ServerConfiguration(listen: "127.0.0.1:0")
    configuration.reactors = 1
    return try HTTPServer.start(configuration) { Handler(self) }
  }
}
