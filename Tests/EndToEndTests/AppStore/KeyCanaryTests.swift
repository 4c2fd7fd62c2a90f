import Foundation
import Platform
import StrictJSON
import Support
import Testing

/// Runs everything that asks Apple, with and without faults, through relays that remember each
/// token; then searches outputs, logs, answers and files for the key, the tokens and what Apple
/// signed.
@Suite struct KeyCanaryTests {
  /// Everything that daemons and commands answered and printed, with its source.
  private final class Outputs {
    private(set) var all: [(from: String, text: String)] = []

    func add(_ from: String, _ text: String) { all.append((from, text)) }

    func add(_ from: String, _ finished: CommandResult) {
      add(from, finished.output)
      add(from, finished.errors)
    }
  }

  /// Faults of an answer, most of them for two requests, so that a command that tries again comes
  /// to an end soon.
  private static let faults = [
    #"{"kind":"redirect"}"#, #"{"kind":"html-200","count":2}"#, #"{"kind":"gzip","count":2}"#,
    #"{"kind":"wrong-types","count":2}"#, #"{"kind":"empty","count":2}"#,
    #"{"kind":"error","code":4000006,"count":2}"#, #"{"kind":"oversized","count":1}"#,
    #"{"kind":"cut-body","count":1}"#, #"{"kind":"wrong-length","count":1}"#,
    #"{"kind":"html-503","count":1}"#,
    #"{"kind":"rate-limit","retryAfter":"seconds","wait":1000,"count":1}"#,
  ]

  private func commands(_ store: PlayedStore) throws -> [[String]] {
    let events = try store.installation.events("--environment", "Production", "--limit", "1000")
    let ids = Set(events.compactMap { $0["original_transaction_id"]?.string }).sorted().prefix(3)
    let list = store.installation.folder.appending(path: "ids")
    try Data(ids.joined(separator: "\n").utf8).write(to: list)
    let id = try #require(ids.first)
    let since = Timestamp.text(Int64(Date().timeIntervalSince1970 * 1000) - PlayedStore.day)
    return [
      ["doctor"], ["lookup", id], ["recover", "--since", since], ["import", list.path],
      ["reconcile", id, "--json"],
      ["test-notification", "--environment", "Production", "--timeout", "3"],
    ]
  }

  private func run(
    _ store: PlayedStore, _ arguments: [String], _ fault: String, _ outputs: Outputs
  ) throws {
    try store.control(#"{"faults":[\#(fault)]}"#)
    let finished = try store.installation.launch(
      arguments + ["--config", store.installation.config.path]
    ).finish(within: 120)
    #expect(finished.code <= 3, "\(arguments) \(fault): \(finished)")
    outputs.add("\(arguments[0]) \(fault)", finished)
  }

  private func ask(_ daemon: RunningDaemon, _ outputs: Outputs) {
    for path in [
      "/metrics", "/v1/rebuild", "/v1/overview", "/v1/quarantine", "/v1/entitlements?limit=50",
      "/openapi.json", "/version", "/healthz", "/readyz", "/console", "/nothing",
    ] {
      let answer = daemon.client().get(path)
      #expect(answer != nil, "\(path)")
      outputs.add(path, (answer?.head ?? "") + (answer?.text ?? ""))
    }
  }

  /// Starts a daemon, whose recovery by itself comes to this end.
  private func start(
    _ store: PlayedStore, _ isEnded: (RunningDaemon) -> Bool
  ) throws -> RunningDaemon {
    let daemon = try store.installation.start()
    try daemon.command.wait(60, "a recovery") { isEnded(daemon) }
    return daemon
  }

  private func search(_ store: PlayedStore, _ outputs: Outputs, _ tokens: Set<String>) throws {
    let pem = try String(contentsOf: store.keyFile, encoding: .utf8)
    let lines = pem.split(separator: "\n").filter { !$0.hasPrefix("-----") }.map(String.init)
    #expect(lines.count > 1 && tokens.count > 8, "\(tokens.count) tokens")
    let signatures = tokens.compactMap { $0.split(separator: ".").last.map(String.init) }
    #expect(signatures.allSatisfy { $0.utf8.count == 86 })
    let secrets = lines + tokens + signatures
    for (from, text) in outputs.all {
      for secret in secrets { #expect(!text.contains(secret), "\(from) has a secret") }
      // Every JWS begins so.
      #expect(!text.contains("eyJ"), "\(from) has a JWS")
    }
    // In PKCS#8 the number that is the key.
    let der = try #require(Data(base64Encoded: lines.joined()))
    let needles = secrets.map { Data($0.utf8) } + [der.subdata(in: 36..<68)]
    let folder = store.installation.folder
    var searched = 0
    for name in try FileManager.default.subpathsOfDirectory(atPath: folder.path) {
      guard let bytes = try? Data(wholeOf: folder.appending(path: name)) else { continue }
      searched += 1
      for needle in needles {
        #expect(bytes.range(of: needle) == nil, "\(name) has a secret")
      }
    }
    #expect(searched > 20)
  }

  @Test func `key, tokens and what Apple signed are in no output, log, answer or file`() throws {
    let store = try PlayedStore(["--customers", "300", "--days", "60", "--behind", "1"])
    let relays = try store.relay()
    let outputs = Outputs()
    let first = try store.installation.start()
    try store.advance(PlayedStore.day / 2, notify: "true")
    try first.crash()
    outputs.add("log", first.log)
    try store.advance(PlayedStore.day / 4, notify: "false")
    try store.control(#"{"notify":true,"faults":[{"kind":"unauthenticated"}]}"#)
    // The recovery is refused, and at the next start it is done.
    let refused = try start(store) { $0.log.contains(#""recovery_ended""#) }
    #expect(refused.log.contains("(401)"), "\(refused.log.suffix(500))")
    ask(refused, outputs)
    try refused.stop()
    outputs.add("log", refused.log)
    try store.control(#"{"faults":[]}"#)
    let daemon = try start(store) { $0.log.contains(#""recovery_ended""#) }
    #expect(!daemon.log.contains("(401)"))
    let commands = try commands(store)
    for arguments in commands {
      for fault in ["", #"{"kind":"unauthenticated"}"#] {
        try run(store, arguments, fault, outputs)
      }
    }
    // Each fault for two of the commands.
    for (number, fault) in Self.faults.enumerated() {
      for place in [number, number + 3] {
        try run(store, commands[place % commands.count], fault, outputs)
      }
    }
    ask(daemon, outputs)
    try daemon.stop()
    outputs.add("log", daemon.log)
    #expect(try store.installation.verify().code == 0)
    try search(store, outputs, relays.reduce(into: Set()) { $0.formUnion($1.tokens) })
  }
}
