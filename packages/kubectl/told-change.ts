import {
  CLUSTER_NAME,
  CPID_ID,
  CPID_NEW,
  CPID_OBJECT,
  CPID_REASON,
  CPID_SOURCES,
  CPID_WROTE,
  MERGELOG_EVENT,
  SERVICE_NAME,
} from '../../src/model/attributes.ts'
import type { UnixNanos } from '../../src/model/time-and-size.ts'
import { type ChangeMerge, type KubectlChange, writtenMerges } from './kubectl-change.ts'

/** How a command ended. */
export interface CommandEnd {
  /** `kubectl apply`. */
  readonly command: string
  /** The program and its arguments, with secrets hidden. */
  readonly args: readonly string[]
  readonly exitCode: number
  readonly endNs: UnixNanos
}

/** The resource that reports a change. */
export interface Reporter {
  /** `service.name`: the program that ran. */
  readonly service: string
  /** `k8s.cluster.name`. */
  readonly cluster: string
}

type Value = string | number | readonly string[]

const SCOPE = { name: 'causeway.kubectl' }
const INTERNAL = 1
const FAILED = 2

/** An ExportLogsServiceRequest in JSON: the mergelogs of the root change and of these merges. */
export function mergelogRequest(change: KubectlChange, by: Reporter, merges: readonly ChangeMerge[]): object {
  const logRecords = mergelogsOf(change, merges).map((mergelog) => ({
    timeUnixNano: String(change.startNs),
    observedTimeUnixNano: String(change.startNs),
    eventName: MERGELOG_EVENT,
    attributes: attributesOf(mergelog),
    traceId: change.traceId,
    spanId: change.spanId,
  }))
  return {
    resourceLogs: [{ resource: resourceOf(by), scopeLogs: [{ scope: SCOPE, logRecords }] }],
  }
}

/** An ExportTraceServiceRequest in JSON: the span of the command, with the mergelogs again as events. */
export function spanRequest(change: KubectlChange, by: Reporter, end: CommandEnd): object {
  const { cpid, wrote, reason, startNs } = change
  const span = {
    traceId: change.traceId,
    spanId: change.spanId,
    name: end.command,
    kind: INTERNAL,
    startTimeUnixNano: String(startNs),
    endTimeUnixNano: String(end.endNs),
    attributes: attributesOf({
      [CPID_ID]: cpid,
      [CPID_WROTE]: wrote,
      [CPID_REASON]: reason,
      'process.command_args': end.args,
      'process.exit.code': end.exitCode,
    }),
    events: mergelogsOf(change, writtenMerges(change)).map((mergelog) => ({
      name: MERGELOG_EVENT,
      timeUnixNano: String(startNs),
      attributes: attributesOf(mergelog),
    })),
    status: end.exitCode === 0 ? {} : { code: FAILED, message: `exit code ${end.exitCode}` },
  }
  return { resourceSpans: [{ resource: resourceOf(by), scopeSpans: [{ scope: SCOPE, spans: [span] }] }] }
}

/** The mergelog of the root change, then those of its merges. */
function mergelogsOf(
  { cpid, wrote, reason }: KubectlChange,
  merges: readonly ChangeMerge[],
): Record<string, Value>[] {
  const [object] = wrote
  return [{ cpid, sources: [], object }, ...merges].map((one) => ({
    [CPID_NEW]: one.cpid,
    [CPID_SOURCES]: one.sources,
    ...(one.object !== undefined && { [CPID_OBJECT]: one.object }),
    [CPID_REASON]: reason,
  }))
}

function resourceOf({ service, cluster }: Reporter): object {
  return { attributes: attributesOf({ [SERVICE_NAME]: service, [CLUSTER_NAME]: cluster }) }
}

function attributesOf(values: Readonly<Record<string, Value>>): object[] {
  return Object.entries(values).map(([key, value]) => ({ key, value: anyValue(value) }))
}

function anyValue(value: Value): object {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'number') return { intValue: String(value) }
  return { arrayValue: { values: value.map(anyValue) } }
}
