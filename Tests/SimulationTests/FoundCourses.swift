/// Courses that once broke a promise, as they were shrunk.
struct FoundCourses: Sendable, CustomStringConvertible {
  let name: String
  let course: Course

  var description: String { name }

  static let all = [
    FoundCourses(
      name: "a start that failed took the -wal with it",
      course: Course(
        posts: [],
        steps: [
          Course.Step(action: .crash([])),
          Course.Step(
            action: .crash([
              Course.Fault(kind: .crash, room: .journal, number: 7),
              Course.Fault(kind: .syncFails, room: .journal, number: 0),
              Course.Fault(kind: .writeFails, room: .rows, number: 1),
              Course.Fault(kind: .syncFails, room: .journal, number: 1),
            ])),
        ])),
    FoundCourses(
      name: "rows that could not be written waited for the next notification",
      course: Course(
        posts: [Course.Post(item: 30, born: 3, fates: [])],
        steps: [
          Course.Step(action: .prepareRows(isCutOff: false)),
          Course.Step(action: .pass(hours: 17)),
          Course.Step(
            action: .work,
            fault: Course.Fault(kind: .diskIsFull(steps: 1), room: .rows, number: 0)),
        ])),
    FoundCourses(
      name: "a crash while rows were begun kept them from ever being built",
      course: Course(
        posts: [],
        steps: [
          Course.Step(action: .loseRows(listToo: true)),
          Course.Step(
            action: .prepareRows(isCutOff: false),
            fault: Course.Fault(kind: .crash, room: .rows, number: 5)),
        ])),
    FoundCourses(
      name: "rows that were gone back to did not come back when they were deleted",
      course: Course(
        posts: [],
        steps: [
          Course.Step(action: .prepareRows(isCutOff: false)),
          Course.Step(action: .build(isFromScratch: true, isCutOff: false, meanwhile: false)),
          Course.Step(action: .adopt), Course.Step(action: .rollBack), Course.Step(action: .work),
          Course.Step(action: .loseRows(listToo: false)),
        ])),
  ]
}
