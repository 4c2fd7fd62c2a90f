import Foundation
import StrictJSON
import Support
import Testing

/// The daemon's log: to a file, to a terminal, and to a reader that stops reading.
@Suite struct LogOutputTests {
  private func entries(_ log: String) -> [JSONElement] {
    log.split(separator: "\n").compactMap { try? JSONDocument(parsing: Array($0.utf8)).root }
  }

  @Test func `each notification has one log line`() throws {
    let installation = try Installation()
    let daemon = try installation.start()
    let client = daemon.client()
    let body = try installation.sign(Sample.notification(1, otid: "7001"))
    let foreign = try installation.sign(Sample.notification(2, bundleId: "com.foreign"))
    #expect([body, body, foreign].map { client.post($0)?.status } == [200, 200, 422])
    #expect(client.post(body.dropLast(8) + Array("AAAAAA\"}".utf8))?.status == 401)
    #expect(try daemon.stop().code == 0)
    let lines = entries(daemon.log).filter { $0["event"]?.string == "notification" }
    #expect(
      lines.map { $0["outcome"]?.string } == ["accepted", "duplicate", "quarantined", "refused"])
    let first = try #require(lines.first)
    #expect(first["notification_uuid"]?.string == Sample.uuid(1))
    #expect(first["original_transaction_id"]?.string == "7001")
    #expect(first["type"]?.string != nil && first["bundle_id"]?.string == "com.example.app")
    #expect(first["seq"]?.integer == 1 && (first["took_us"]?.integer ?? 0) > 0)
    #expect(lines.dropFirst(2).first?["reason"]?.string == "other_app")
    // The content of an unproven notification is not logged.
    let last = try #require(lines.last)
    #expect(last["notification_uuid"] == nil && last["reason"]?.string == "signature")
    for line in daemon.log.split(separator: "\n") { #expect(line.utf8.count < 2048) }
  }

  @Test(arguments: ["flag", "variable", "file"])
  func `the log level filters lines`(_ way: String) throws {
    let installation = try Installation()
    var arguments = ["serve", "--config", installation.config.path]
    switch way {
    case "flag": arguments += ["--log-level", "warning"]
    case "variable": installation.environment["SUBLEDGER_LOG_LEVEL"] = "warning"
    default: try installation.configure(with: [("logLevel", .string("warning"))])
    }
    try installation.configure(
      apps: [], with: way == "file" ? [("logLevel", .string("warning"))] : [])
    let daemon = try installation.launch(arguments)
    try daemon.wait(60, "a warning") { daemon.errorsSoFar().contains("no_apps") }
    daemon.signal(SIGTERM)
    let finished = try daemon.finish()
    #expect(finished.code == 0)
    #expect(entries(finished.errors).map { $0["level"]?.string } == ["warning"], "\(finished)")
  }

  @Test func `an unknown log level is refused`() throws {
    let installation = try Installation()
    let flag = try installation.run("serve", "--log-level", "loud")
    #expect(flag.code == 2 && flag.errors.contains("levels are info, warning, error"))
    try installation.configure(with: [("logLevel", .string("loud"))])
    #expect(try installation.run("serve").code == 2)
  }

  @Test func `a terminal gets plain text`() throws {
    let installation = try Installation()
    let file = installation.folder.appending(path: "typescript").path
    // script(1), part of every Debian, runs the program on a terminal.
    let script = try RunningCommand(
      [
        "-qefc",
        "echo $$ >pid; exec '\(installation.program.path)' serve --config config.json", file,
      ], in: installation.folder, program: URL(filePath: "/usr/bin/script"))
    func shown() -> String { RunningCommand.text(URL(filePath: file)) }
    try script.wait(60, "the daemon to listen") { shown().contains("listening") }
    let pid = try String(
      contentsOf: installation.folder.appending(path: "pid"), encoding: .utf8)
    // Not script itself: when its terminal closes, the daemon gets SIGHUP, which is a reload.
    kill(try #require(pid_t(pid.filter(\.isNumber))), SIGTERM)
    try script.finish()
    let lines = shown().split(whereSeparator: \.isNewline)
    let line = try #require(lines.first { $0.contains("listening") })
    #expect(line.contains(" info    listening listen=127.0.0.1:0 port="), "\(line)")
    #expect(!line.contains("{"))
  }

  /// Lines that the reader does not take are dropped and counted.
  @Test func `a stopped log reader delays no request`() throws {
    let installation = try Installation()
    let log = installation.folder.appending(path: "log").path
    try #require(mkfifo(log, 0o600) == 0)
    // Opened before the daemon starts, because opening a pipe waits for a reader.
    let pipe = open(log, O_RDONLY | O_NONBLOCK)
    try #require(pipe >= 0)
    defer { close(pipe) }
    let daemon = try SpawnedProcess(
      installation.program.path, ["serve", "--config", installation.config.path],
      in: installation.folder.path, environment: RunningCommand.inheritedEnvironment,
      output: "/dev/null",
      errors: log)
    defer { daemon.signal(SIGKILL) }
    _ = fcntl(pipe, F_SETFL, 0)
    var head = ""
    var buffer = [UInt8](repeating: 0, count: 4096)
    while !head.contains("\"listening\"") {
      let count = read(pipe, &buffer, buffer.count)
      guard count > 0 else { throw TestFailure("the daemon ended: \(head)") }
      head += String(decoding: buffer.prefix(count), as: UTF8.self)
    }
    let ports = head.split(separator: "\n").compactMap { line -> Int64? in
      let entry = try? JSONDocument(parsing: Array(line.utf8)).root
      return entry?["port"]?.integer
    }
    let port = try #require(ports.first)
    // A pipe holds 64 KiB, the daemon's queue 8,192 lines.
    // Redeliveries, because every one has its own line.
    let body = try installation.sign(Sample.notification(1, otid: "7001"))
    let fields =
      "POST /v1/notifications HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
      + "Content-Length: \(body.count)\r\n\r\n"
    let requests = Array(repeating: Array(fields.utf8) + body, count: 10).flatMap(\.self)
    let clients = (0..<10).map { _ in Client(port: UInt16(port)) }
    for _ in 0..<95 {
      for client in clients { #expect(client.write(requests)) }
      for client in clients {
        for _ in 0..<10 { #expect(try #require(client.answer()).status == 200) }
      }
    }
    let client = clients[0]
    let metrics = MetricsText(try #require(client.get("/metrics")).text)
    #expect((metrics.value("subledger_log_lines_lost_total") ?? 0) > 0)
    daemon.signal(SIGTERM)
    while daemon.isRunning { usleep(5_000) }
    #expect(daemon.code == 0)
  }

  /// Anyone can send requests that are refused: they must not fill the log.
  @Test func `at most ten refusals of a kind are logged each second, the others as a sum`() throws {
    let installation = try Installation()
    let daemon = try installation.start()
    let client = daemon.client()
    let start = ContinuousClock.now
    let stray = Array(String(repeating: "GET /stray HTTP/1.1\r\nHost: x\r\n\r\n", count: 100).utf8)
    for _ in 0..<5 {
      #expect(client.write(stray))
      for _ in 0..<100 { #expect(try #require(client.answer()).status == 404) }
    }
    for _ in 0..<300 { #expect(client.post(Array("{}".utf8))?.status == 400) }
    for number in 0..<100 {
      let foreign = Sample.notification(number, bundleId: "com.example.other")
      #expect(client.post(try installation.sign(foreign))?.status == 422)
    }
    let seconds = Int((ContinuousClock.now - start).components.seconds)
    let metrics = MetricsText(try #require(client.get("/metrics")).text)
    #expect(metrics.value("subledger_http_refusals_total", ["status": "404"]) == 500)
    #expect(metrics.sum("subledger_refusals_total") == 400)
    #expect(try daemon.stop().code == 0)
    let lines = entries(daemon.log)
    for (event, outcome, status, count) in [
      ("http_refused", nil, 404, 500), ("notification", "refused", 400, 300),
      ("notification", "quarantined", 422, 100),
    ] {
      let logged = lines.count {
        $0["event"]?.string == event && $0["outcome"]?.string == outcome
      }
      let sums = lines.filter {
        $0["event"]?.string == "refusals_left_out" && $0["of"]?.string == event
          && $0["status"]?.integer == Int64(status)
      }.compactMap { $0["count"]?.integer }
      #expect(logged >= 10 && logged <= 10 * (seconds + 2), "\(logged) lines of \(event)")
      #expect(Int64(logged) + sums.reduce(0, +) == count, "\(event): \(logged) + \(sums)")
    }
  }

  @Test func `ten refusals of a kind have a line each and no sum`() throws {
    let installation = try Installation()
    let daemon = try installation.start()
    let client = daemon.client()
    for _ in 0..<10 { #expect(client.get("/stray")?.status == 404) }
    for _ in 0..<10 { #expect(client.post(Array("{}".utf8))?.status == 400) }
    for _ in 0..<10 { #expect(client.get("/metrics", token: "wrong")?.status == 401) }
    #expect(try daemon.stop().code == 0)
    let lines = entries(daemon.log)
    #expect(lines.count { $0["event"]?.string == "http_refused" } == 20)
    #expect(lines.count { $0["event"]?.string == "notification" } == 10)
    #expect(!daemon.log.contains("refusals_left_out"))
  }
}
