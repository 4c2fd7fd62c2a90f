import Foundation
import StrictJSON
import Support
import Testing

/// `ETag`, `If-None-Match` and `Date`.
@Suite struct ConditionalTests {
  private static let alice = "0a0b0c0d-0000-4000-8000-00000000a11c"

  @Test func `an answer that has not changed is not sent again`() throws {
    let installation = try Installation()
    try installation.configure(with: [
      ("entitlements", .object([("pro", .array([.string("pro.*")]))]))
    ])
    let daemon = try installation.start()
    let client = daemon.client()
    func send(_ number: Int) throws {
      let body = Sample.notification(number)
        .setting("data.transaction.appAccountToken", .string(Self.alice))
      #expect(client.post(try installation.sign(body))?.status == 200)
    }
    func get(_ path: String, _ tags: String...) -> Client.Answer? {
      let bearer = "Authorization: Bearer \(Installation.token)"
      return client.ask("GET", path, [bearer] + tags.map { "If-None-Match: \($0)" })
    }
    try send(1)
    for (number, path) in zip(2..., ["/v1/entitlements/7000", "/v1/customers/\(Self.alice)"]) {
      let first = try #require(get(path))
      let tag = try #require(first.field("ETag"))
      #expect(tag.hasPrefix("W/\"") && first.status == 200)
      for tags in [[tag], [String(tag.dropFirst(2))], ["\"x\", \(tag)"], ["*"], ["\"x\"", tag]] {
        // Without a variadic call for two fields of one name.
        let same = tags.count == 1 ? get(path, tags[0]) : get(path, tags[0], tags[1])
        #expect(same?.status == 304 && same?.body.isEmpty == true, "\(path) \(tags)")
        #expect(same?.field("ETag") == tag && same?.field("Date") != nil)
      }
      #expect(get(path, "\"x\"")?.status == 200)
      // Another time of evaluation alone is the same answer; another answer is not. The time is
      // in milliseconds: what comes before may take less than one.
      usleep(2_000)
      let later = try #require(get(path))
      #expect(later.field("ETag") == tag && later.body != first.body)
      #expect(get("\(path)?as_of=2026-01-10T00:00:00Z", tag)?.status == 200)
      try send(number)
      let changed = try #require(get(path, tag))
      #expect(changed.status == 200 && changed.field("ETag") != tag)
    }
    #expect(get("/v1/entitlements/1", "*")?.status == 404)
    #expect(try daemon.stop().code == 0)
  }

  @Test func `every answer has a date`() throws {
    let installation = try Installation()
    let daemon = try installation.start()
    let client = daemon.client()
    let format = DateFormatter()
    format.locale = Locale(identifier: "en_US_POSIX")
    format.timeZone = TimeZone(identifier: "UTC")
    format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
    for path in ["/healthz", "/v1/entitlements/1", "/no-such-path", "/openapi.json", "/metrics"] {
      let text = try #require(client.get(path)?.field("Date"))
      let date = try #require(format.date(from: text))
      #expect(abs(date.timeIntervalSinceNow) < 60 && format.string(from: date) == text)
    }
    let broken = daemon.client().send("GET / HTTP/3\r\n\r\n", [])
    #expect(broken?.field("Date") != nil && broken?.status ?? 0 >= 400)
    #expect(try daemon.stop().code == 0)
  }
}
