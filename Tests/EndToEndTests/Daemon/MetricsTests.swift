import Foundation
import StrictJSON
import Support
import Testing

/// The content of `/metrics`, and when `/readyz` answers 503.
@Suite struct MetricsTests {
  private func read(_ client: Client) throws -> MetricsText {
    let answer = try #require(client.get("/metrics"))
    #expect(answer.status == 200)
    #expect(answer.field("Content-Type") == "text/plain; version=0.0.4")
    let metrics = MetricsText(answer.text)
    #expect(metrics.faults.isEmpty, "\(metrics.faults.joined(separator: "\n"))\n\(answer.text)")
    return metrics
  }

  @Test func `notifications, refusals and requests are counted`() throws {
    let installation = try Installation()
    let daemon = try installation.start()
    let client = daemon.client()
    let fresh = try read(client)
    #expect(fresh.value("subledger_journal_seq") == 0)
    #expect(fresh.value("subledger_duplicates_total") == 0)
    let first = try installation.sign(Sample.notification(1, otid: "7001"))
    let second = try installation.sign(Sample.notification(2, otid: "7001"))
    let foreign = try installation.sign(
      Sample.notification(3, bundleId: "com.nobody.\"\\\n\u{202E}"))
    let unknown = try installation.sign(Sample.notification(4, type: "BRAND_NEW\"}"))
    // 2 is sent before 1, so 1 is late.
    let answers = [second, first, first, unknown].map { client.post($0)?.status }
    #expect(answers == [200, 200, 200, 200])
    #expect(client.post(foreign)?.status == 422)
    #expect(client.post(first.dropLast(8) + Array("AAAAAA\"}".utf8))?.status == 401)
    #expect(client.post(Array("{}".utf8))?.status == 400)
    #expect(client.ask("DELETE", "/metrics")?.status == 405)
    let metrics = try read(client)
    let name = "subledger_notifications_total"
    func labels(
      _ app: String, _ type: String, _ outcome: String, _ environment: String = "Production"
    )
      -> [String: String]
    {
      ["app": app, "environment": environment, "version": "2", "type": type, "outcome": outcome]
    }
    let app = "com.example.app"
    #expect(metrics.sum(name, ["outcome": "accepted", "app": app]) == 3)
    #expect(metrics.sum(name, ["outcome": "duplicate", "app": app]) == 1)
    #expect(metrics.value(name, labels(app, "other", "accepted")) == 1)
    #expect(metrics.sum(name, ["app": "other", "outcome": "quarantined"]) == 1)
    #expect(metrics.sum(name) == 5)
    #expect(metrics.value("subledger_duplicates_total") == 1)
    #expect(metrics.value("subledger_late_events_total") == 1)
    #expect(metrics.value("subledger_unknown_types_total") == 1)
    #expect(metrics.value("subledger_refusals_total", ["reason": "other_app"]) == 1)
    #expect(metrics.sum("subledger_refusals_total") == 3)
    #expect(metrics.value("subledger_http_refusals_total", ["status": "405"]) == 1)
    #expect(metrics.value("subledger_journal_seq") == 3)
    #expect(metrics.value("subledger_answer_seconds_count") == 7)
    #expect(metrics.value("subledger_arrival_delay_seconds_count") == 3)
    #expect((metrics.value("subledger_batch_notifications_count") ?? 0) >= 1)
    #expect(metrics.value("subledger_projection_lag_events") == 0)
    #expect(metrics.value("subledger_rows_live") == 1)
    #expect((metrics.value("subledger_connections_open") ?? 0) >= 1)
    // Each reactor proves the chain once; every other signature finds it in the cache.
    let hits = metrics.value("subledger_chain_cache_hits_total") ?? 0
    let misses = metrics.value("subledger_chain_cache_misses_total") ?? 0
    #expect(misses >= 1 && hits >= 10, "\(hits) hits, \(misses) misses")
    #expect((metrics.value("subledger_disk_free_bytes") ?? 0) > 0)
    try daemon.stop()
  }

  @Test func `sizes and rows are sampled in the background`() throws {
    let installation = try Installation()
    let daemon = try installation.start()
    let client = daemon.client()
    for number in 1...4 {
      let body = try installation.sign(Sample.notification(number, otid: "70\(number)"))
      #expect(client.post(body)?.status == 200)
    }
    var metrics = try read(client)
    let end = Date(timeIntervalSinceNow: 60)
    while metrics.sum("subledger_rows") < 4
      || (metrics.value("subledger_journal_wal_bytes") ?? 0) < 1, Date() < end
    {
      usleep(100_000)
      metrics = try read(client)
    }
    #expect(metrics.sum("subledger_rows", ["environment": "Production"]) == 4)
    #expect(metrics.value("subledger_rows_broken") == 0)
    #expect((metrics.value("subledger_rows_age_seconds") ?? -1) >= 0)
    #expect((metrics.value("subledger_journal_bytes") ?? 0) > 4096)
    #expect((metrics.value("subledger_journal_wal_bytes") ?? 0) > 0)
    try daemon.stop()
  }

  /// Labels are closed sets, so that senders cannot make the metrics grow.
  @Test func `hostile notifications create no labels`() throws {
    let installation = try Installation()
    let daemon = try installation.start()
    let client = daemon.client()
    func count() throws -> Int {
      // Rows are counted in the background, at any time.
      try read(client).families.filter { !$0.key.hasPrefix("subledger_rows") }.values
        .map(\.samples.count).reduce(0, +)
    }
    let body = try installation.sign(Sample.notification(1, bundleId: "com.foreign"))
    #expect(client.post(body)?.status == 422)
    #expect(client.get("/v1/nothing")?.status == 404)
    #expect(client.post(Array("{\"x\":0}".utf8))?.status == 400)
    let before = try count()
    for number in 2...40 {
      let body = try installation.sign(
        Sample.notification(
          number, type: "TYPE_\(number)", bundleId: "com.foreign\(number)"))
      #expect(client.post(body)?.status == 422)
      #expect(client.get("/v1/nothing\(number)")?.status == 404)
      #expect(client.post(Array("{\"x\(number)\":0}".utf8))?.status == 400)
    }
    // The first foreign notification had a documented type.
    #expect(try count() <= before + 1)
    try daemon.stop()
  }

  @Test func `readyz answers 503 below the disk floor`() throws {
    let installation = try Installation()
    try installation.configure(with: [
      ("limits", .object([("diskBytes", .integer(1_000_000_000_000_000))]))
    ])
    let daemon = try installation.startWithoutProjection()
    let client = daemon.client()
    let answer = try #require(client.get("/readyz", token: nil))
    #expect(answer.status == 503 && answer.json?["code"]?.string == "disk_floor")
    #expect(answer.field("Retry-After") != nil)
    #expect(client.get("/healthz", token: nil)?.status == 200)
    // A notification that arrives nevertheless is journaled while there is space.
    #expect(client.post(try installation.sign(Sample.notification(1)))?.status == 200)
    try daemon.stop()
  }

  /// `make metrics`: checks with Debian's promtool.
  @Test(.enabled(if: ProcessInfo.processInfo.environment["SUBLEDGER_PROMTOOL"] != nil))
  func `promtool accepts the metrics`() throws {
    let installation = try Installation()
    let daemon = try installation.start()
    let client = daemon.client()
    #expect(client.post(try installation.sign(Sample.notification(1)))?.status == 200)
    #expect(client.post(Array("{}".utf8))?.status == 400)
    #expect(client.ask("DELETE", "/metrics")?.status == 405)
    var text = try #require(client.get("/metrics")).text
    let end = Date(timeIntervalSinceNow: 60)
    while !text.contains("subledger_rows{"), Date() < end {
      usleep(200_000)
      text = try #require(client.get("/metrics")).text
    }
    #expect(text.contains("subledger_rows{"))
    let file = installation.folder.appending(path: "metrics.txt")
    try Data(text.utf8).write(to: file)
    let tool = ProcessInfo.processInfo.environment["SUBLEDGER_PROMTOOL"] ?? ""
    let checked = try RunningCommand(
      ["-c", "\"$0\" check metrics <\"$1\"", tool, file.path], in: installation.folder,
      program: URL(filePath: "/bin/sh")
    ).finish()
    #expect(checked.code == 0 && checked.output.isEmpty && checked.errors.isEmpty, "\(checked)")
    try daemon.stop()
  }
}
