import Clients
import Foundation
import Ledger
import Platform
import Testing

/// The key `sharedJournal`: where the shared journal is, and every mistake is named.
@Suite struct SharedJournalReadingTests {
  private let folder: ConfigurationFolder

  init() throws {
    folder = try ConfigurationFolder()
    try folder.write("pg.password", Array("canary-94\n".utf8))
    try folder.write("open.password", Array("canary-95\n".utf8), mode: 0o644)
    try folder.write("two.password", Array("canary-96\ncanary-97\n".utf8))
    try folder.write("empty.password", Array("\n".utf8))
  }

  private func read(_ members: String) throws -> Configuration.SharedJournal {
    let configuration = try folder.load(#"{ "sharedJournal": { \#(members) } }"#)
    return try #require(configuration.sharedJournal)
  }

  private static let connection = #""connection": "host=/run/postgresql dbname=app user=sl""#

  @Test func `without the key there is none`() throws {
    #expect(try folder.load("{}").sharedJournal == nil)
  }

  @Test func `what is left out has its default`() throws {
    let journal = try read(Self.connection)
    #expect(journal.address.isLocal && journal.address.user == "sl")
    #expect(journal.schema.name == "subledger" && journal.passwordFile == nil)
    #expect(!journal.requiresReplication && journal.reads == .local)
    #expect(journal.holdSeconds == 8 && journal.pollMilliseconds == 100)
    #expect(try journal.password() == nil)
  }

  @Test func `every member is read`() throws {
    let journal = try read(
      Self.connection
        + #", "passwordFile": "pg.password", "schema": "ledger_2", "replication": "required","#
        + #" "reads": "fresh", "holdSeconds": 5, "pollMilliseconds": 250"#)
    #expect(journal.schema.name == "ledger_2" && journal.requiresReplication)
    #expect(journal.reads == .fresh && journal.holdSeconds == 5)
    #expect(journal.pollMilliseconds == 250)
    #expect(try journal.password() == "canary-94")
    #expect(!"\(journal)".contains("canary"))
  }

  @Test func `the password file is read again each time`() throws {
    let journal = try read(Self.connection + #", "passwordFile": "pg.password""#)
    try folder.write("pg.password", Array("rotated\r\n".utf8))
    #expect(try journal.password() == "rotated")
    try folder.write("pg.password", Array("rotated".utf8), mode: 0o640)
    #expect(throws: LedgerError.self) { try journal.password() }
  }

  @Test func `a bare name is looked up among the credentials first`() throws {
    let credentials = folder.url.appending(path: "credentials")
    try FileManager.default.createDirectory(at: credentials, withIntermediateDirectories: true)
    try folder.write("credentials/pg.password", Array("credential\n".utf8))
    let text = #"{ "sharedJournal": { \#(Self.connection), "passwordFile": "pg.password" } }"#
    let configuration = try folder.load(text, credentials: credentials.path)
    #expect(try configuration.sharedJournal?.password() == "credential")
  }

  @Test(arguments: [
    ("", "connection is missing"),
    (#""connection": "host=db.example.com""#, "sslmode must be verify-full"),
    (#""connection": "host=/run password=canary-98""#, "password is not taken"),
    (#""connection": "host=/run options=-cx""#, "options is not taken"),
    (#""connection": "host=/run", "schema": "a-b""#, "schema is no plain name"),
    (#""connection": "host=/run", "passwordFile": "none""#, "none"),
    (#""connection": "host=/run", "passwordFile": "open.password""#, "can be read by others"),
    (#""connection": "host=/run", "passwordFile": "two.password""#, "does not hold one line"),
    (#""connection": "host=/run", "passwordFile": "empty.password""#, "does not hold one line"),
    (#""connection": "host=/run", "replication": "maybe""#, "replication is unknown"),
    (#""connection": "host=/run", "reads": "stale""#, "reads is unknown"),
    (#""connection": "host=/run", "holdSeconds": 21"#, "holdSeconds is not an integer"),
    (#""connection": "host=/run", "pollMilliseconds": 9"#, "pollMilliseconds is not an integer"),
    (#""connection": "host=/run", "pool": 4"#, "unknown key"),
  ])
  func `a mistake is named and holds no secret`(members: String, expected: String) throws {
    let error = #expect(throws: LedgerError.self) { try read(members) }
    #expect(error?.description.contains(expected) == true, "\(error?.description ?? "")")
    #expect(error?.description.contains("sharedJournal") == true)
    #expect(error?.description.contains("canary") == false)
  }
}
