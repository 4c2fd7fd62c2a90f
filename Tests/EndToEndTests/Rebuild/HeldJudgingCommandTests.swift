import Foundation
import Store
import StrictJSON
import Support
import Testing

/// What an operator sees of evidence that another fold held.
@Suite struct HeldJudgingCommandTests {
  private static let start: Int64 = 1_767_225_600_000
  private static let finding = "evidence is held by the rules of another fold"

  /// A journal that holds what an app handed over for the second time, by the rules of fold 1.
  private func installation() throws -> Installation {
    let installation = try Installation()
    let lines = try (0...1).map { minute in
      let transaction = JSONValue.object([
        ("transactionId", .string("7000")), ("originalTransactionId", .string("7000")),
        ("bundleId", .string("com.example.app")), ("environment", .string("Production")),
        ("productId", .string("basic")), ("purchaseDate", .integer(Self.start)),
        ("type", .string("Non-Consumable")),
        ("signedDate", .integer(Self.start + Int64(minute) * 60_000)),
      ])
      return JSONValue.object([
        (
          "body",
          .object([
            ("signedTransactionInfo", try installation.signedText(transaction)),
            ("bundleId", .string("com.example.app")), ("environment", .string("Production")),
          ])
        )
      ]).bytes
    }
    let told = try installation.run("ingest", try installation.file("told", lines))
    #expect(told.code == 0, "\(told)")
    try judgeByFoldOne(installation)
    return installation
  }

  private func judgeByFoldOne(_ installation: Installation) throws {
    let file = try SQLiteConnection.open(installation.journal.path, .write)
    try file.execute("UPDATE meta SET value = 1 WHERE key = 'evidence_judged_by'")
    try file.checkpointTruncate()
    file.close()
  }

  private func isFinding(_ installation: Installation) throws -> Bool {
    try installation.run("doctor").output.contains(Self.finding)
  }

  @Test func `doctor, the log and metrics tell of held evidence that is to be judged`() throws {
    let installation = try installation()
    #expect(try isFinding(installation))
    let daemon = try installation.start()
    try daemon.logged(#""event":"held_judging_ended""#)
    try daemon.logged(#""event":"held_judging_began","held":1"#)
    let metrics = MetricsText(daemon.client().get("/metrics")?.text ?? "")
    #expect(metrics.value("subledger_held_judged") == 1)
    #expect(metrics.value("subledger_held_judged_streams_total") == 1)
    #expect(metrics.value("subledger_held_judged_events_total") == 0)
    #expect(try daemon.stop().code == 0)
    #expect(try !isFinding(installation))
    #expect(try installation.verify().code == 0)
    let again = try installation.start()
    #expect(try again.stop().code == 0)
    #expect(!again.log.contains("held_judging"), "it is done once")
  }

  @Test func `rebuild judges first where no daemon runs, and says where one has to`() throws {
    let installation = try installation()
    do {
      let lock = try DataFolder(path: installation.data.path).lock()
      let beside = try installation.run("rebuild")
      #expect(beside.code == 0 && beside.errors.contains(Self.finding), "\(beside)")
      withExtendedLifetime(lock) {}
    }
    for arguments in [["--diff"], ["--apply"], []] {
      try judgeByFoldOne(installation)
      #expect(try isFinding(installation))
      let rebuilt = try installation.run(["rebuild"] + arguments)
      #expect(rebuilt.code == 0 && !rebuilt.errors.contains(Self.finding), "\(rebuilt)")
      #expect(try !isFinding(installation))
    }
  }
}
