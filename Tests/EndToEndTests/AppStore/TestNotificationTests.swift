import AppStoreSimulator
import Foundation
import StrictJSON
import Support
import Testing

/// `test-notification`, with a daemon and a local App Store that sends to it.
@Suite struct TestNotificationTests {
  private final class Setting: ConnectedInstallation {
    func run(_ arguments: String...) throws -> CommandResult {
      let finished = try installation.launch(
        ["test-notification", "--config", installation.config.path] + arguments
      ).finish()
      let key = try #require(store.description["keyFile"]?.string)
      let secret = try String(contentsOfFile: key, encoding: .utf8).split(separator: "\n")[1]
      let printed = finished.output + finished.errors
      #expect(!printed.contains(secret) && !printed.contains("eyJ"), "\(finished)")
      return finished
    }

    /// The report of a run with `--json`, which must end with this code.
    func report(_ code: Int32, _ environment: String = "Production") throws -> JSONElement {
      let finished = try run("--environment", environment, "--json")
      #expect(finished.code == code, "\(finished)")
      let lines = try finished.lines()
      #expect(lines.count == 1 && lines.first?["object"]?.string == "test_notification")
      return try #require(lines.first)
    }

    /// Expects that a leg failed, and that there is something to look at.
    func expectFailure(
      _ leg: String, _ report: JSONElement, next: String,
      _ location: SourceLocation = #_sourceLocation
    ) {
      #expect(report["leg"]?.string == leg, "\(report.value.text)", sourceLocation: location)
      #expect(
        report["next"]?.string?.contains(next) == true, "\(report.value.text)",
        sourceLocation: location)
      #expect(report["what"]?.string?.isEmpty == false, sourceLocation: location)
    }
  }

  @Test(arguments: ["Production", "Sandbox"])
  func `a test notification is followed into the journal`(environment: String) throws {
    let setting = try Setting()
    let before = Int64(Date().timeIntervalSince1970 * 1000)
    let report = try setting.report(0, environment)
    let after = Int64(Date().timeIntervalSince1970 * 1000)
    let event = try #require(try setting.installation.events("--type", "TEST").first)
    #expect(report["seq"]?.integer == event["seq"]?.integer && event["seq"]?.integer == 1)
    #expect(report["notification_uuid"]?.string == event["notification_uuid"]?.string)
    #expect(report["environment"]?.string == environment)
    #expect(report["bundle_id"]?.string == "com.example.app")
    #expect(report["attempts"]?.elements.map { $0["result"]?.string } == ["SUCCESS"])
    let (asked, received) = (report["asked_at"]?.integer ?? 0, report["received_at"]?.integer ?? 0)
    #expect(before <= asked && asked <= received && received <= after)
    #expect(report["received_after_ms"]?.integer == received - asked)
    #expect(report["leg"]?.kind == .null && report["next"]?.kind == .null)
    let text = try setting.run("--environment", environment)
    #expect(text.code == 0 && text.errors.isEmpty, "\(text)")
    let topics = text.output.split(separator: "\n").compactMap { $0.split(separator: " ").first }
    #expect(topics == ["asked", "attempt", "journal", "time"], "\(text)")
    #expect(text.output.contains("seq 2"), "\(text)")
  }

  @Test func `several choices are named, and Apple is not asked`() throws {
    let setting = try Setting()
    for arguments in [[], ["--app", "com.example.app"]] {
      let finished = try setting.installation.launch(
        ["test-notification", "--config", setting.installation.config.path] + arguments
      ).finish()
      #expect(finished.code == 2, "\(finished)")
      for environment in ["Production", "Sandbox"] {
        let choice = "--app com.example.app --environment \(environment)"
        #expect(finished.errors.contains(choice), "\(finished)")
      }
    }
    for wrong in [
      ["--app", "com.example.other"], ["--timeout", "0"], ["--environment", "x"], ["operand"],
    ] {
      let finished = try setting.installation.launch(
        ["test-notification", "--config", setting.installation.config.path] + wrong
      ).finish()
      #expect(finished.code == 2, "\(wrong): \(finished)")
    }
    #expect(try setting.store.requests("production").isEmpty)
    #expect(try setting.store.requests("sandbox").isEmpty)
  }

  @Test func `without a URL at Apple that leg is named`() throws {
    let setting = try Setting(sends: false)
    let report = try setting.report(1)
    setting.expectFailure("url", report, next: "App Store Connect")
    #expect(report["what"]?.string?.contains("4040007") == true)
  }

  @Test func `a refused token is named with its causes`() throws {
    let setting = try Setting()
    try setting.store.control(#"{"clockSkew":-600000}"#)
    let report = try setting.report(1)
    setting.expectFailure(
      "request", report, next: "keyId, issuerId, keyFile and the app's bundleId")
    let what = try #require(report["what"]?.string)
    #expect(what.contains("401") && what.contains("s ahead of Apple's"), "\(what)")
    try setting.store.control(#"{"clockSkew":0,"neverReleased":true}"#)
    setting.expectFailure("request", try setting.report(1), next: "never released")
    #expect(try setting.report(0, "Sandbox")["seq"]?.integer == 1)
  }

  @Test func `attempts that fail are named with what to look at`() throws {
    let setting = try Setting()
    for (result, next) in [
      ("TLS_ISSUE", "openssl s_client"), ("TIMED_OUT", "took_us"), ("NO_RESPONSE", "17.0.0.0/8"),
      ("CIRCULAR_REDIRECT", "redirect"), ("SOMETHING_NEW", "from outside"),
    ] {
      try setting.store.control(#"{"notify":"\#(result)"}"#)
      let report = try setting.report(1)
      setting.expectFailure("delivery", report, next: next)
      #expect(report["what"]?.string?.contains(result) == true)
      #expect(report["attempts"]?.elements.map { $0["result"]?.string } == [result])
      #expect(report["seq"]?.kind == .null && report["received_after_ms"]?.kind == .null)
    }
    let text = try setting.run("--environment", "Production")
    #expect(text.output.contains("\n✗ delivery") && text.output.contains("\n    → "), "\(text)")
  }

  @Test func `a daemon that does not run is named`() throws {
    let setting = try Setting()
    try setting.daemon.stop()
    let report = try setting.report(1)
    setting.expectFailure("delivery", report, next: "no daemon has this data folder")
    #expect(report["attempts"]?.elements.map { $0["result"]?.string } == ["NO_RESPONSE"])
  }

  @Test func `an answer from elsewhere is told from one of this journal`() throws {
    let setting = try Setting()
    try setting.store.control(#"{"notify":"SUCCESS"}"#)
    setting.expectFailure("journal", try setting.report(1), next: "another data folder")
  }

  @Test func `our own refusal is named`() throws {
    let setting = try Setting(trusts: false)
    let report = try setting.report(1)
    setting.expectFailure("answer", report, next: "the daemon's log")
    #expect(report["what"]?.string?.contains("UNSUCCESSFUL_HTTP_RESPONSE_CODE") == true)
  }

  @Test func `a test in quarantine is named, and can be admitted`() throws {
    let setting = try Setting(served: [
      .object([
        ("bundleId", .string("com.example.app")), ("environments", .array([.string("Sandbox")])),
      ])
    ])
    let report = try setting.report(1)
    let id = try #require(report["quarantine_id"]?.integer)
    setting.expectFailure("quarantine", report, next: "subledger quarantine admit \(id)")
    #expect(try setting.installation.run("quarantine", "admit", "\(id)").code != 0)
    setting.daemon.command.signal(SIGHUP)
    try setting.daemon.logged("reloaded")
    let admitted = try setting.installation.run("quarantine", "admit", "\(id)")
    #expect(admitted.code == 0, "\(admitted)")
  }

  @Test func `what Apple did not sign is no test notification`() throws {
    let setting = try Setting()
    try setting.installation.configure(with: [("appStore", setting.store.access)])
    setting.expectFailure("proof", try setting.report(1), next: "trustRoots")
  }

  @Test func `the wait for Apple ends, and says what arrived meanwhile`() throws {
    let setting = try Setting()
    try setting.store.control(
      #"{"faults":[{"kind":"error","code":4040008,"path":"/inApps/v1/notifications/test/"}]}"#)
    let began = Date()
    let finished = try setting.run("--environment", "Production", "--timeout", "2")
    #expect(finished.code == 3 && finished.errors.contains("within 2 s"), "\(finished)")
    #expect(finished.errors.contains("journaled meanwhile, seq 1"), "\(finished)")
    #expect(Date().timeIntervalSince(began) < 50 * RunningCommand.timeoutFactor)
    let sent = try setting.store.requests("production").values.reduce(0, +)
    #expect((2...4).contains(sent), "asked once, and for the status a few times: \(sent)")
  }

  @Test func `Apple out of reach, or no journal, is unavailable`() throws {
    let setting = try Setting()
    let empty = try setting.run(
      "--environment", "Production", "--data",
      setting.installation.folder.appending(path: "empty").path)
    #expect(empty.code == 3, "\(empty)")
    #expect(try setting.store.requests("production").isEmpty)
    setting.store.command.signal(SIGTERM)
    _ = try setting.store.command.finish()
    let away = try setting.run("--environment", "Production")
    #expect(away.code == 3 && away.errors.contains("no connection"), "\(away)")
  }
}
