// What `causeway-instrumentation/testing` gives the tests of a controller.
export {
  ReportedChanges,
  type EmittedRecord,
  type EndedSpan,
  type ReportedMergelog,
  type ToldSpan,
} from './reported-changes.ts'
