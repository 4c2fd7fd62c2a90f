import AppStoreSimulator
import Foundation
import Ledger
import Platform
import StrictJSON
import Support
import Testing

@testable import API

/// What a refused body is said to be, and the table of codes.
@Suite struct BodyDiagnosisTests {
  private static let subjects: [Problem.Subject] = [.notification, .transaction, .receipt]

  private func finding(_ text: String, _ wanted: Problem.Subject) -> BodyFinding? {
    BodyDiagnosis(wanted: wanted).finding(Array(text.utf8))
  }

  /// A JWS with this payload, which nobody signed.
  private func jws(_ payload: String, _ header: String = "{}") -> String {
    [header, payload, "s"].map {
      String(decoding: Base64URL.encode(Array($0.utf8)), as: UTF8.self)
    }.joined(separator: ".")
  }

  @Test func `a receipt of after its certificate's end is said to be that, and large ones the way`()
    throws
  {
    func body(_ created: Int64) throws -> [UInt8] {
      let der = try SharedAuthority.receipt(ReceiptContent(creationDate: created))
      let text = String(decoding: Base64.encode(der), as: UTF8.self)
      return JSONValue.object([("receipt", .string(text))]).bytes
    }
    let late = try #require(BodyDiagnosis.lateReceipt(try body(7_258_118_400_000)))
    #expect(
      late.text.contains("certificate ended at") && late.text.contains("2200-01-01T00:00:00Z"))
    #expect(late.text.contains("Take a new one"))
    #expect(BodyDiagnosis.lateReceipt(try body(1_767_225_600_000)) == nil)
    for code in ["receipt_too_long", "receipt_records", "too_large"] {
      let detail = try #require(RefusalEntry.of(code)?.detail)
      #expect(detail.contains("2 MiB") || detail.contains("5,000"), "\(code)")
      #expect(detail.contains("transaction ids"), "\(code)")
    }
  }

  @Test func `what is wanted has no finding`() {
    let notification = jws(#"{"notificationType":"TEST"}"#)
    #expect(finding(#"{"signedPayload":"\#(notification)"}"#, .notification) == nil)
    let transaction = jws(#"{"transactionId":"1","environment":"Sandbox"}"#)
    #expect(finding(#"{"signedTransaction":"\#(transaction)"}"#, .transaction) == nil)
    #expect(finding(#"{"notification_type":"CANCEL","password":"x"}"#, .notification) == nil)
    // Its length is what its header says.
    let der = [0x30, 0x81, 0x80] + [UInt8](repeating: 0, count: 128)
    let receipt = String(decoding: Base64.encode(der), as: UTF8.self)
    #expect(finding(#"{"receipt":"\#(receipt)"}"#, .receipt) == nil)
  }

  /// To refuse it must not cost more than a few genuine ones.
  @Test func `a body much longer than Apple's is not looked at, but for a receipt`() {
    for (length, isLookedAt) in [(60_000, true), (70_000, false)] {
      let body = #"{"data":"\#(String(repeating: "x", count: length))"}"#
      for wanted in Self.subjects {
        #expect((finding(body, wanted) != nil) == (isLookedAt || wanted == .receipt), "\(wanted)")
      }
    }
  }

  @Test func `a receipt much longer than a column of 64 KiB is not looked at`() {
    for (length, isLookedAt) in [(64 << 10, true), (81 << 10, false)] {
      let der = [0x30, 0x83, 0x10, 0x00, 0x00] + [UInt8](repeating: 0, count: length / 4 * 3)
      let text = String(decoding: Base64.encode(der).prefix(length), as: UTF8.self)
      #expect((finding(#"{"receipt":"\#(text)"}"#, .receipt) != nil) == isLookedAt)
    }
  }

  @Test func `a JWS is told by its payload and by its key`() {
    let kinds: [(String, ClaimedJWS.Kind)] = [
      (#"{"notificationType":"TEST"}"#, .notification), (#"{"transactionId":"1"}"#, .transaction),
      (#"{"autoRenewStatus":0}"#, .renewal), (#"{"receiptCreationDate":1}"#, .appTransaction),
    ]
    for (payload, kind) in kinds {
      #expect(ClaimedJWS(Array(jws(payload).utf8)[...])?.kind == kind, "\(payload)")
    }
    #expect(ClaimedJWS(Array(jws("{}").utf8)[...])?.kind == nil)
    for text in ["", "..", "a.b", "a.b.c.d", "e30.e30", jws("[]"), jws("{}", "[]")] {
      #expect(ClaimedJWS(Array(text.utf8)[...]) == nil, "\(text)")
    }
    let key = jws("{}", #"{"kid":"Apple_Xcode_Key"}"#)
    for text in [key, jws(#"{"receiptType":"Xcode"}"#), jws(#"{"environment":"LocalTesting"}"#)] {
      #expect(ClaimedJWS(Array(text.utf8)[...])?.isOfXcode == true, "\(text)")
    }
    #expect(ClaimedJWS(Array(jws(#"{"environment":"Sandbox"}"#).utf8)[...])?.isOfXcode == false)
  }

  @Test func `a receipt is told by its form`() {
    let start: [UInt8] = [0x30, 0x82, 0x01, 0x00] + [UInt8](repeating: 0xFB, count: 256)
    let base64 = String(decoding: Base64.encode(start), as: UTF8.self)
    for (text, part) in [
      (base64.replacing("+", with: "-").replacing("/", with: "_"), "URL-safe"),
      (base64.replacing("+", with: " "), "spaces"),
      (base64.replacing("+", with: "%2B"), "percent-encoding"),
      (String(base64.prefix { $0 != "=" }), "without its padding"),
      (String(base64.prefix(101)), "cut"), (String(base64.prefix(100)), "cut"),
      ("hello", "not base64"), ("", "not base64"), ("%", "not base64"),
    ] {
      let found = ReceiptText.finding(Array(text.utf8)[...])
      #expect(found?.what.contains(part) == true, "\(part): \(found?.text ?? "none")")
    }
    #expect(ReceiptText.finding(Array(base64.utf8)[...]) == nil)
  }

  /// Bodies that cost much, if anything does: they take time in proportion to their length.
  @Test func `hostile bodies are told in a moment`() {
    let size = 262_144
    let many = (0..<2000).map { "\"\($0)\":\"a.b.c\"" }.joined(separator: ",")
    let texts = [
      String(repeating: ".", count: size), String(repeating: "A", count: size),
      String(repeating: "[", count: size), String(repeating: " ", count: size),
      String(repeating: "=", count: size), "{\(many)}",
      "{\"signedPayload\":\"\(String(repeating: ".", count: size))\"}",
      "{\"receipt\":\"\(String(repeating: "A", count: 3 << 20))\"}",
      "{\"receipt\":\"\(String(repeating: "{", count: size))\"}",
    ]
    for text in texts {
      for subject in Self.subjects {
        let start = Clock.monotonicNanoseconds()
        _ = finding(text, subject)
        let took = Clock.monotonicNanoseconds() - start
        #expect(took < 5_000_000_000, "\(text.prefix(20)) took \(took) ns")
      }
    }
  }

  @Test func `no finding has a byte of the body`() {
    let canary = "ein-kanarienvogel"
    let values = ["\"\(canary)\"", "[\"\(canary)\"]", "{\"\(canary)\":1}", "\(canary)"]
    let names = [
      canary, "signedPayload", "signedTransaction", "receipt", "notification_type", "Message",
    ]
    for subject in Self.subjects {
      for name in names {
        for value in values {
          let found = finding("{\"\(name)\":\(value)}", subject)
          #expect(found?.text.contains(canary) != true)
        }
      }
      for value in values { #expect(finding(value, subject)?.text.contains(canary) != true) }
    }
  }

  // MARK: The table

  @Test func `the table of codes is sound`() {
    let entries = RefusalEntry.documented
    #expect(entries.count > 80)
    #expect(Set(entries.map { "\($0.status) \($0.code)" }).count == entries.count)
    for entry in entries {
      #expect(entry.code.contains(/^[a-z0-9_]+$/), "\(entry.code)")
      for text in [entry.meaning, entry.next] where !text.isEmpty {
        #expect(text.hasSuffix(".") && !text.contains("  "), "\(entry.code): \(text)")
      }
      #expect(RefusalEntry.of(entry.code, status: entry.status)?.meaning == entry.meaning)
      #expect(entry.isRetryable == (entry.status == 503 || entry.status == 408))
    }
    #expect(RefusalEntry.of("nested_chain_dates")?.meaning.contains("valid at the time") == true)
    #expect(RefusalEntry.of("nested_payload")?.status == 422)
    #expect(RefusalEntry.of("no_such_code") == nil)
    #expect(RefusalEntry.of("receipt_base64")?.repeats == nil)
    #expect(RefusalEntry.of("overload")?.repeats == "A notification is repeated by Apple.")
    #expect(RefusalEntry.of("json")?.repeats == "A notification may not be repeated by Apple.")
    #expect(RefusalEntry.counted("bundle_id")?.status == 422)
  }
}
