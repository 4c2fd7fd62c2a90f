import Console
import HTTPServer

/// The console's pages, open to everybody: they hold no data, and ask for it with the token that
/// somebody enters.
enum ConsolePages {
  static let routes = Console.pages.map {
    Route(.page, "GET", $0.path, .everybody, "A page of the console.")
  }

  /// Nothing but these pages' own files and this origin's answers; no frame, no form, no script or
  /// style in the markup (www.w3.org/TR/CSP3). A browser that is shown somebody's text as markup
  /// still runs none of it.
  private static let policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    + "img-src 'self' data:; form-action 'none'; frame-ancestors 'none'; base-uri 'none'; "
    + "require-trusted-types-for 'script'"

  private static let responses = Dictionary(
    Console.pages.map { page in
      (
        page.path,
        HTTPResponse(
          status: 200,
          headers: [
            (name: "Content-Type", value: page.mediaType),
            (name: "Content-Security-Policy", value: policy),
            (name: "Referrer-Policy", value: "no-referrer"),
            (name: "X-Frame-Options", value: "DENY"),
            (name: "Cross-Origin-Opener-Policy", value: "same-origin"),
            (name: "Cross-Origin-Resource-Policy", value: "same-origin"),
          ], body: page.bytes)
      )
    }, uniquingKeysWith: { first, _ in first })

  static func response(_ path: String) -> HTTPResponse? { responses[path] }
}
