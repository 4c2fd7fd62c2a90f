import Foundation
import StrictJSON
import Support
import Testing

/// The console's files without a browser: their headers, and what they load.
@Suite struct ConsolePageTests {
  private static let paths =
    [
      "/console", "/console/style.css",
    ]
    + [
      "main", "api", "draw", "names", "overview", "chart", "subscriptions", "subscription",
      "timeline", "customer", "events", "event", "refunds", "reports", "quarantine", "sinks",
      "recovery", "rebuild",
    ].map { "/console/\($0).js" }

  @Test func `every file is served with a strict content security policy`() throws {
    let installation = try Installation()
    let daemon = try installation.start()
    let client = daemon.client()
    for path in Self.paths {
      let answer = try #require(client.get(path, token: nil))
      #expect(answer.status == 200 && !answer.body.isEmpty, "\(path)")
      let policy = (answer.field("Content-Security-Policy") ?? "").components(separatedBy: "; ")
      #expect(policy.first == "default-src 'none'", "\(path)")
      for rule in [
        "script-src 'self'", "style-src 'self'", "connect-src 'self'", "form-action 'none'",
        "frame-ancestors 'none'", "base-uri 'none'", "require-trusted-types-for 'script'",
      ] {
        #expect(policy.contains(rule), "\(path): \(rule)")
      }
      #expect(!policy.joined().contains("unsafe") && !policy.joined().contains("http"))
      #expect(answer.field("X-Content-Type-Options") == "nosniff")
      #expect(answer.field("Referrer-Policy") == "no-referrer")
      #expect(answer.field("Cache-Control") == "no-store")
      #expect(client.ask("POST", path)?.field("Allow") == "GET, HEAD")
    }
    for path in ["/console/", "/console/x.js", "/console/../version", "/Console", "/console//"] {
      #expect(client.get(path, token: nil)?.status == 404, "\(path)")
    }
  }

  /// No other host, no inline script or style, no lasting storage, no markup made from strings.
  @Test func `pages load nothing from other hosts, and keep a token for one tab alone`() throws {
    let installation = try Installation()
    let daemon = try installation.start()
    let client = daemon.client()
    let names = ["w3.org/2000/svg"]
    var bytes = 0
    for path in Self.paths {
      let answer = try #require(client.get(path, token: nil))
      bytes += answer.body.count
      var text = answer.text
      for name in names { text = text.replacingOccurrences(of: "http://www.\(name)", with: "") }
      for forbidden in [
        "http://", "https://", "url(", "@import", "innerHTML", "outerHTML", "insertAdjacent",
        "document.write", "localStorage", "document.cookie", "indexedDB",
        "eval(", "Function(", "style=", "import(",
      ] {
        #expect(!text.contains(forbidden), "\(path): \(forbidden)")
      }
      #expect(!text.contains("sessionStorage") || path == "/console/api.js", "\(path)")
    }
    let page = try #require(client.get("/console", token: nil)).text
    #expect(!page.contains("<script>") && !page.contains("<style"))
    #expect(page.contains("<html lang=\"en\">") && page.contains("<main"))
    #expect(bytes < 168_000, "\(bytes) bytes: embedding more takes long to compile")
  }
}
