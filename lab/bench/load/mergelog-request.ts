import { randomUUID } from 'node:crypto'
import { protobufOfJson } from '../../../src/model/otlp/json-to-protobuf.ts'

/** The CPIDs of the changes a round replays: `levels[i]` has the i-th CPID of every cascade. */
interface Cascades {
  count: number
  levels: string[][]
}

/** Each cascade is a chain, as Deployment, ReplicaSet, Pod, Endpoints: every CPID has one root, so no span is copied. */
export function inventCascades(count: number, levels: number): Cascades {
  return {
    count,
    levels: Array.from({ length: levels }, () => Array.from({ length: count }, () => randomUUID())),
  }
}

/** An ExportLogsServiceRequest with the mergelog of every CPID. */
export function mergelogRequest({ levels }: Cascades): Buffer {
  const timeUnixNano = String(BigInt(Date.now()) * 1_000_000n)
  const logRecords = levels.flatMap((cpids, level) =>
    cpids.map((cpid, cascade) => {
      const source = levels[level - 1]?.[cascade]
      return {
        timeUnixNano,
        eventName: 'cpid.mergelog',
        attributes: [
          { key: 'cpid.new', value: { stringValue: cpid } },
          ...(source === undefined
            ? []
            : [{ key: 'cpid.sources', value: { arrayValue: { values: [{ stringValue: source }] } } }]),
        ],
      }
    }),
  )
  const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'kubectl' } }] }
  const request = { resourceLogs: [{ resource, scopeLogs: [{ scope: { name: 'bench' }, logRecords }] }] }
  return Buffer.from(protobufOfJson('logs', Buffer.from(JSON.stringify(request))))
}
