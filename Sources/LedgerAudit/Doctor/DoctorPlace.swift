import Configuration
import Encoding
import JournalStore
import Platform
import SignedData

/// The machine: files and who may read them, the clock, the disk, libraries, roots.
extension Doctor {
  mutating func examineInstallation() {
    if let file, let mode = try? FileMode.of(file), mode.isWritableByOthers {
      find(
        "permissions", "\(file) can be changed by others (mode \(mode.text))",
        next: "chmod 640 it: who can change it can let himself read everything")
    }
    examineFolder()
    examineDisk()
    note("clock", "it is \(Timestamp.text(now))")
    // Before this program was written: no clock that was ever set.
    if now < 1_767_225_600_000 {
      find("clock", "the clock is years behind", next: "set it, and run a time service")
    }
  }

  private mutating func examineFolder() {
    guard let mode = (try? FileMode.of(folder.path)) ?? nil else {
      return find(
        "permissions", "there is no data folder \(folder.path)",
        next: "start the daemon, which makes it, or give the right --data or --config")
    }
    if mode.isOpenToOthers {
      find(
        "permissions", "\(folder.path) is open to others (mode \(mode.text))",
        next: "chmod 700 \(folder.path)")
    }
    var isGood = !mode.isOpenToOthers
    for name in (try? FolderListing.names(folder.path)) ?? [] {
      let path = "\(folder.path)/\(name)"
      guard let own = (try? FileMode.of(path)) ?? nil else { continue }
      // A folder of 0700 lets nobody at what is in it, whatever its mode.
      if mode.isOpenToOthers, own.isOpenToOthers {
        isGood = false
        find("permissions", "\(path) is open to others (mode \(own.text))", next: "chmod 600 it")
      }
      guard own.owner != mode.owner else { continue }
      isGood = false
      find(
        "permissions",
        "\(path) belongs to \(own.ownerName ?? String(own.owner)), the folder to "
          + (mode.ownerName ?? String(mode.owner)),
        next: "chown -R \(mode.ownerName ?? String(mode.owner)) \(folder.path)")
    }
    if isGood {
      note(
        "permissions",
        "\(folder.path) is \(mode.ownerName ?? String(mode.owner))'s alone (mode \(mode.text))")
    }
  }

  private mutating func examineDisk() {
    guard let disk = try? DiskSpace.of(folder.path) else { return }
    let floor = Int64(configuration.limits.diskBytes)
    let size =
      [folder.journal, folder.journalWAL].compactMap { (try? DurableFile.size($0)) ?? nil }
      .reduce(0, +)
    let words =
      "\(Self.words(bytes: disk.free)) are free, the journal has "
      + Self.words(bytes: size)
    if disk.free < floor {
      find(
        "disk", words + ": under the floor of \(Self.words(bytes: floor))",
        next: "make room; until then readyz says no, and a full disk answers 503")
    } else if disk.free < size / 2 {
      find(
        "disk", words, next: "make room: a rebuild writes all rows anew beside the live ones")
    } else {
      note("disk", words)
    }
  }

  mutating func examineLibraries() {
    note(
      "libraries",
      "SQLite \(StoreLibraries.sqlite), zstd \(StoreLibraries.zstd), OpenSSL "
        + CryptographyLibrary.version)
    note(
      "libraries",
      "the journal is written by one connection, in WAL mode, synchronous=FULL, mmap_size=0, "
        + "without automatic checkpoints")
    // sqlite.org/releaselog: STRICT tables came with 3.37.
    let parts = StoreLibraries.sqlite.split(separator: ".").compactMap { Int($0) }
    if parts.lexicographicallyPrecedes([3, 37]) {
      find("libraries", "this SQLite is too old", next: "install 3.40 or later")
    }
    if !CryptographyLibrary.version.hasPrefix("3.") {
      find("libraries", "this OpenSSL was never tried", next: "install OpenSSL 3")
    }
  }

  /// Two weeks, in milliseconds: time to act in.
  private static let soon: Int64 = 14 * 86_400_000

  mutating func examineRoots() {
    note("roots", "Apple Root CA - G3 is pinned; it is valid until 2039-04-30")
    let production = configuration.apps.values.filter { $0.environments.contains("Production") }
      .map(\.bundleId).sorted()
    for der in configuration.trustRoots.certificates {
      let name = "the extra root " + Hexadecimal.encode(Array(SHA256.hash(der).prefix(8)))
      let validity = CertificateDates.validity(der: der)
      let until = validity.map { ", valid until \(Timestamp.text($0.upperBound))" } ?? ""
      if production.isEmpty {
        note("roots", "\(name) is trusted\(until)")
      } else {
        find(
          "roots",
          "\(name) is trusted for Production\(until): who has its key can make "
            + "notifications of \(production.joined(separator: ", "))",
          next: "remove it from \"trustRoots\", or take Production from these apps, "
            + "unless this is a trial")
      }
      if let end = validity?.upperBound, end < now + Self.soon {
        find(
          "roots", "\(name) \(end < now ? "has expired" : "expires soon")",
          next: "put its successor beside it in \"trustRoots\", then send SIGHUP")
      }
    }
  }

  /// Chains of the newest events.
  mutating func examineChains(_ events: [StoredEvent]) {
    var headers: Set<[UInt8]> = []
    var ends: [Int64] = []
    for event in events where event.source == "v2" {
      guard let dot = event.body.firstIndex(of: UInt8(ascii: ".")),
        headers.insert(Array(event.body[..<dot])).inserted
      else { continue }
      if let validity = CertificateDates.chainValidity(jws: event.body[...]) {
        ends.append(validity.upperBound)
      }
    }
    guard let newest = ends.max() else { return }
    let words =
      "\(ends.count) certificate chain\(ends.count == 1 ? "" : "s") in the newest "
      + "\(events.count) events, valid until \(Timestamp.text(newest))"
    if newest < now {
      find(
        "chains", words + ": expired",
        next: "look at the clock, and at refusals for chain_dates in /metrics; Apple signs with a "
          + "new chain before an old one ends")
    } else {
      note("chains", words)
    }
  }
}
