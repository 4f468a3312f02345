// What `causeway-instrumentation` gives a controller.
export {
  activeTraceContext,
  getTraceContext,
  setTraceContext,
  withTraceContext,
} from './context/active-trace-context.ts'
export { changeAttributes } from './telemetry/change-attributes.ts'
export { consoleWithCpid, type LineLogger } from './telemetry/console-with-cpid.ts'
export { CpidLogRecordProcessor, type EmittedLogRecord } from './telemetry/cpid-log-record-processor.ts'
export { CpidPropagator, type PropagatorSettings } from './context/cpid-propagator.ts'
export { CpidSpanProcessor, type StartedSpan } from './telemetry/cpid-span-processor.ts'
export { createInstrumentation } from './create-instrumentation.ts'
export { cpidLogFields, cpidWinstonFormat } from './telemetry/log-fields.ts'
export type {
  Annotated,
  ChangeDetail,
  DeletionDetail,
  Instrumentation,
  InstrumentationSettings,
  MaybeObject,
  WriteDetail,
} from './instrumentation.ts'
export type { KubernetesMetadata, KubernetesObject } from './objects/kubernetes-object.ts'
export {
  mergeTraceContexts,
  type Merged,
  type Mergelog,
  type MergeSettings,
} from './merge/merge-trace-contexts.ts'
export type { AnnotationKeys } from './objects/object-annotations.ts'
export { objectReference, type ObjectType } from './objects/object-reference.ts'
export {
  type ExportOutcome,
  type ItemExporter,
  RetryingExporter,
  type RetrySettings,
} from './telemetry/retrying-exporter.ts'
export { parseCpidFromLine } from './telemetry/parse-cpid-from-line.ts'
export type { TraceContext } from './context/trace-context.ts'
export { linkFromTraceparent } from './context/traceparent-link.ts'
