import Platform
import Queries
import Store

extension DeliveryWorker {
  /// What the worker reads and stores.
  struct Files {
    let store: SinkStore
    let reader: LedgerReader
    let maker: MessageMaker
    /// What non-renewing products last, as the reader knows it.
    let durations: [String: Int64]

    /// The first moments after a time, through another, in order: what time alone changes, and what
    /// was announced after another fold.
    ///
    /// - Throws: `LedgerError.busy` while the rows do not know them, otherwise what SQLite reports.
    func moments(
      _ filter: MessageFilter, after time: Int64, through last: Int64, _ limit: Int
    ) throws(LedgerError) -> [MessageOrder.Moment] {
      var found: [MessageOrder.Moment] = []
      if filter.wantsQuarantine {
        let arrivals = try reader.journal.quarantineArrivals(
          after: time, through: last, limit: limit)
        for (at, id) in arrivals {
          // They are of nobody, so none waits for another.
          found.append(.init(.quarantined(at: at, id: id), at: at, stream: nil))
        }
      }
      guard filter.wantsMoments else { return found }
      for item in try store.recalculations(after: time, through: last, limit: limit) {
        let key = try reader.journal.streamKey(item.stream)
        let place = SinkMachine.Place.recalculation(at: item.at, stream: item.stream)
        let isWanted = key.map { filter.passes($0, type: MessageType.recalculated) } ?? false
        found.append(.init(place, at: item.at, stream: item.stream, isWanted: isWanted))
      }
      for turn in try turns(after: time, through: last, limit) {
        let place = SinkMachine.Place.turn(at: turn.at, stream: turn.stream)
        let isWanted = filter.passes(turn.key, type: MessageType.statusChanged)
        found.append(.init(place, at: turn.at, stream: turn.stream, isWanted: isWanted))
      }
      found.sort { ($0.at, $0.stream ?? 0) < ($1.at, $1.stream ?? 0) }
      return Array(found.prefix(limit))
    }

    private func turns(
      after time: Int64, through last: Int64, _ limit: Int
    ) throws(LedgerError) -> [Turn] {
      let turns: [Turn]?
      do throws(LedgerError) {
        turns = try reader.turns(after: time, through: last, limit: limit)
      } catch {
        throw [.notReady, .ambiguous].contains(error.code) ? .busy : error
      }
      guard let turns else { throw .busy }
      return turns
    }
  }
}
