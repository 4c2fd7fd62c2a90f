/// A page of the operating guide, by its task. The files are a part of the program.
enum OperatingPage: String, CaseIterable {
  case install, containers, kubernetes, run, connect, recover
  case backends, customers, queries, finance, accounts, refunds, privacy
  case webhooks, forward, mirror
  case monitor, faults, backup, prove, rules
  case sharedJournal = "shared-journal"
  case simulate, format

  private var bytes: [UInt8] {
    switch self {
    case .install: PackageResources.install_md
    case .containers: PackageResources.containers_md
    case .kubernetes: PackageResources.kubernetes_md
    case .run: PackageResources.run_md
    case .connect: PackageResources.connect_md
    case .recover: PackageResources.recover_md
    case .backends: PackageResources.backends_md
    case .customers: PackageResources.customers_md
    case .queries: PackageResources.queries_md
    case .finance: PackageResources.finance_md
    case .accounts: PackageResources.accounts_md
    case .refunds: PackageResources.refunds_md
    case .privacy: PackageResources.privacy_md
    case .webhooks: PackageResources.webhooks_md
    case .forward: PackageResources.forward_md
    case .mirror: PackageResources.mirror_md
    case .monitor: PackageResources.monitor_md
    case .faults: PackageResources.faults_md
    case .backup: PackageResources.backup_md
    case .prove: PackageResources.prove_md
    case .rules: PackageResources.rules_md
    case .sharedJournal: PackageResources.shared_journal_md
    case .simulate: PackageResources.simulate_md
    case .format: PackageResources.format_md
    }
  }

  /// The page as it is in its file.
  var text: String { String(decoding: bytes, as: UTF8.self) }

  /// The page as `help` prints it: where it leads to another page, the command that prints that.
  var printed: String {
    text.replacing(/\[([^\]]+)\]\(([a-z-]+)\.md(?:#[a-z-]+)?\)/) { link in
      OperatingPage(rawValue: String(link.2)) == nil
        ? String(link.0) : "\(link.1) (subledger help operating \(link.2))"
    }
  }

  /// The paragraph under the title, which says what the page is about.
  private var summary: String {
    let paragraphs = text.split(separator: "\n\n")
    return paragraphs.count < 2 ? "" : String(paragraphs[1].map { $0 == "\n" ? " " : $0 })
  }

  /// What `help operating` prints.
  static var contents: Document {
    Document(
      blocks: [
        .heading("Operating"),
        .paragraph(
          "Pages by task; `subledger help install` prints the first, and `subledger help operating "
            + "recover` one that is a command too. Their files are in "
            + "share/doc/subledger/operating of an installation."),
        .heading("Pages"),
      ] + allCases.map { .entry(.init(term: $0.rawValue, text: $0.summary)) })
  }

  /// All pages in one sentence.
  static let list = "Pages: \(allCases.map(\.rawValue).joined(separator: ", "))."
}
