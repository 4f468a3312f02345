// What `causeway/instrumentation` gives a controller.
export {
  activeTraceContext,
  getTraceContext,
  setTraceContext,
  withTraceContext,
} from './active-trace-context.ts'
export { changeAttributes } from './change-attributes.ts'
export { consoleWithCpid, type LineLogger } from './console-with-cpid.ts'
export { CpidLogRecordProcessor, type EmittedLogRecord } from './cpid-log-record-processor.ts'
export { CpidPropagator, type PropagatorSettings } from './cpid-propagator.ts'
export { CpidSpanProcessor, type StartedSpan } from './cpid-span-processor.ts'
export { createInstrumentation } from './create-instrumentation.ts'
export { cpidLogFields, cpidWinstonFormat } from './log-fields.ts'
export type {
  ChangeDetail,
  Instrumentation,
  InstrumentationSettings,
  MaybeObject,
} from './instrumentation.ts'
export type { KubernetesMetadata, KubernetesObject } from './kubernetes-object.ts'
export { mergeTraceContexts, type Merged, type Mergelog, type MergeSettings } from './merge-trace-contexts.ts'
export type { AnnotationKeys } from './object-annotations.ts'
export { objectReference, type ObjectType } from './object-reference.ts'
export { parseCpidFromLine } from './parse-cpid-from-line.ts'
export type { TraceContext } from './trace-context.ts'
export { linkFromTraceparent } from './traceparent-link.ts'
