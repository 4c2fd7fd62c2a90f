import StrictJSON
import Support
import Testing

/// `verify` on evidence whose place in the journal was changed (promise 3).
@Suite struct TamperedEvidenceTests {
  /// A journal with a transaction at seq 1 and renewal information at seq 2, and two more pieces of
  /// evidence, held, that say the same again.
  private static func make() throws -> Installation {
    let installation = try Installation()
    let times: [Int64] = [Sample.start, Sample.start + Sample.day]
    let lines = try times.map { (time: Int64) -> [UInt8] in
      func signed(_ info: JSONValue) throws -> JSONValue {
        try installation.signedText(info.setting("signedDate", .integer(time)))
      }
      return JSONValue.object([
        ("signedTransaction", try signed(Sample.transaction(1))),
        ("signedRenewalInfo", try signed(Sample.renewal(1))),
      ]).bytes
    }
    let ingested = try installation.run("ingest", try installation.file("app", lines))
    guard ingested.code == 0, try installation.verify().code == 0 else {
      throw TestFailure("\(ingested)")
    }
    return installation
  }

  @Test func `renewal information before any transaction of its customer is a finding`() throws {
    let installation = try Self.make()
    try installation.tamper(
      """
      UPDATE event SET seq = -1 WHERE seq = 1; UPDATE event SET seq = 1 WHERE seq = 2;
      UPDATE event SET seq = 2 WHERE seq = -1; UPDATE event SET received_at_ms = 1
      """)
    try installation.chainAgain()
    let verified = try installation.run("verify")
    #expect(verified.code == 1, "\(verified)")
    let finding = "is renewal information of a customer without a transaction before it"
    #expect(verified.output.contains(finding), "\(verified)")
  }

  @Test func `held renewal information of a customer without a transaction is a finding`() throws {
    let installation = try Self.make()
    try installation.tamper("DELETE FROM event WHERE seq = 1")
    let verified = try installation.run("verify")
    #expect(verified.code == 1, "\(verified)")
    let finding = "is renewal information of a customer without a transaction\n"
    #expect(verified.output.contains(finding), "\(verified)")
  }
}
