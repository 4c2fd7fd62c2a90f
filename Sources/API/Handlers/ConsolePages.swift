import HTTPServer

/// The console's pages. They need no token, because they contain no data; they request it with the
/// token that the user enters.
enum ConsolePages {
  static let routes =
    (["/"] + Console.pages.map(\.path)).map {
      Route(nil, .daemon, "GET", $0, .anyone, "", answer: LedgerHandler.getPage)
    }

  /// Permits only files of these pages and responses of this origin: no frame, no form, no script
  /// or style in the markup (www.w3.org/TR/CSP3). If foreign text were shown as markup, a browser
  /// would still not run it.
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

  /// RFC 9110 section 15.4.3: not for ever, because the path may get another use.
  private static let redirect = HTTPResponse(
    status: 302, headers: [(name: "Location", value: "/console")])

  fileprivate static func response(_ path: String) -> HTTPResponse? {
    path == "/" ? redirect : responses[path]
  }
}

extension LedgerHandler {
  fileprivate func getPage(_ call: Call) -> HTTPResponse? {
    ConsolePages.response(call.request.path)
  }
}
