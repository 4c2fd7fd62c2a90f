import Foundation
import SignedData
import StrictJSON
import Support
import Synchronization

/// An installation with one sink, and a receiver that answers as the test says.
final class SinkWorld {
  let installation: Installation
  let receiver: ScriptedServer
  let secret = WebhookSecret.generate()
  private let script: Script

  /// What the receiver answers; replaced while it runs.
  private final class Script: Sendable {
    let answer = Mutex<@Sendable (ScriptedServer.Request) -> [ScriptedServer.Step]>({ _ in
      [.response(204, "")]
    })
  }

  init() throws {
    let script = Script()
    self.script = script
    installation = try Installation()
    receiver = try ScriptedServer { request in script.answer.withLock { $0 }(request) }
    try write("a.whsec", secret)
    try configure()
  }

  func write(_ name: String, _ text: String) throws {
    let path = installation.folder.appending(path: name).path
    try Data(text.utf8).write(to: URL(filePath: path))
    chmod(path, 0o600)
  }

  /// Writes the configuration with one sink.
  ///
  /// - Parameter members: of the sink, to add or to replace.
  func configure(
    _ members: [(String, JSONValue)] = [], more: [(String, JSONValue)] = []
  ) throws {
    let usual: [(String, JSONValue)] = [
      ("name", .string("backend")), ("kind", .string("webhook")),
      ("url", .string(receiver.address + "/hook?k=1")), ("secretFile", .string("a.whsec")),
      ("privateNetwork", .boolean(true)),
    ]
    let replaced = Set(members.map(\.0))
    let sink = usual.filter { !replaced.contains($0.0) } + members.filter { $0.1.text != "null" }
    try installation.configure(with: [("sinks", .array([.object(sink)]))] + more)
  }

  func answer(_ steps: @escaping @Sendable (ScriptedServer.Request) -> [ScriptedServer.Step]) {
    script.answer.withLock { $0 = steps }
  }

  /// The messages that arrived, each with its body parsed.
  var messages: [(request: ScriptedServer.Request, json: JSONElement)] {
    receiver.requests.compactMap { request in
      (try? JSONDocument(parsing: request.body)).map { (request, $0.root) }
    }
  }

  /// The seqs of the messages in the order in which they arrived.
  var seqs: [Int64] { messages.compactMap { $0.json["data"]?["seq"]?.integer } }

  /// Waits until the receiver has got so many requests.
  func wait(_ count: Int) throws {
    try waitUntil("\(count) messages") { receiver.requests.count >= count }
  }

  func waitUntil(_ what: String, _ holds: () throws -> Bool) throws {
    let end = Date(timeIntervalSinceNow: 60 * RunningCommand.waitFactor)
    while Date() < end {
      if try holds() { return }
      usleep(20_000)
    }
    throw TimedOut(what: what)
  }

  struct TimedOut: Error { let what: String }

  /// Starts a daemon and waits until the sink has its place in the journal.
  func start() throws -> RunningDaemon {
    let daemon = try installation.start()
    try waitUntil("the sink") { sink(daemon) != nil }
    return daemon
  }

  func post(_ daemon: RunningDaemon, _ numbers: ClosedRange<Int>, otid: String) throws {
    for number in numbers {
      let body = try installation.sign(Sample.notification(number, otid: otid))
      _ = daemon.client().post(body)
    }
  }

  func sink(_ daemon: RunningDaemon) -> JSONElement? {
    daemon.client().get("/v1/sinks")?.json?["items"]?.elements.first
  }
}
