// What `causeway-instrumentation/testing` gives the tests of a controller.
export {
  ToldChanges,
  type EmittedRecord,
  type EndedSpan,
  type ToldMergelog,
  type ToldSpan,
} from './told-changes.ts'
