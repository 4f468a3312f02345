import { deepStrictEqual, strictEqual } from 'node:assert/strict'
import { parseCpid } from '../../../src/model/merge-graph.ts'
import { decodeLogs, decodeTraces } from '../../../src/model/otlp/decode-requests.ts'
import type { MessageName } from '../../../src/model/otlp/message-schema.ts'
import {
  hasOwnAttribute,
  patchLog,
  patchSpan,
  traceIdOfLog,
} from '../../../src/model/otlp/outgoing-records.ts'
import { type JsonObject, jsonOfProtobuf } from '../../../src/model/otlp/protobuf-to-json.ts'
import { MalformedOtlp } from '../../../src/model/otlp/protobuf-wire.ts'
import { readLinks, readOwnSpan } from '../../../src/model/otlp/read-stored-span.ts'
import { claimedSender } from '../../../src/model/otlp/request-envelopes.ts'
import { onlyThrows } from '../only-throws.ts'
import { hasForeignTypes, otlpJson, referenceJson } from '../reference-decoder.ts'
import { logRequests, traceRequests } from '../seed-requests.ts'
import type { Target } from '../target.ts'

const isMalformed = (error: unknown): boolean => error instanceof MalformedOtlp
const LATEST = 2n ** 63n - 1n
const WORDS = ['cpid.id', 'cpid.sources', 'cpid.new', 'cpid.mergelog', 'service.name']

interface Expected {
  name?: string
  kind?: number
  severityNumber?: number
  startTimeUnixNano?: string
  status?: { code?: number }
  eventName?: string
  attributes?: { key?: string; value?: JsonObject }[]
}

/** Where the general decoder takes the bytes too, both must have read the same. */
function compare(message: MessageName, bytes: Buffer): JsonObject | undefined {
  const shown = onlyThrows(isMalformed, () => jsonOfProtobuf(message, bytes))
  const reference = hasForeignTypes(message, bytes) ? undefined : referenceJson(message, bytes)
  const comparable = shown !== undefined && !JSON.stringify(shown).includes('(nested more than')
  if (comparable && reference !== undefined)
    deepStrictEqual(otlpJson(message, shown, 'as they are'), reference)
  return reference
}

const recordsIn = (json: JsonObject, groups: string, scopes: string, records: string): Expected[] =>
  ((json[groups] ?? []) as JsonObject[]).flatMap((group) =>
    ((group[scopes] ?? []) as JsonObject[]).flatMap((scope) => (scope[records] ?? []) as Expected[]),
  )

function carried({ attributes = [] }: Expected): string | null | undefined {
  const first = attributes.find(({ key }) => key === 'cpid.id')
  if (first === undefined) return undefined
  return typeof first.value?.['stringValue'] === 'string' ? first.value['stringValue'] : null
}

/** `null` and a text that is no CPID come to the same. */
const asCpid = (text: string | null | undefined): unknown =>
  text === undefined ? undefined : (parseCpid(text ?? '') ?? null)

const clamped = (text = '0'): bigint => (BigInt(text) > LATEST ? LATEST : BigInt(text))

export const traces: Target = {
  name: 'otlp-traces',
  shape: 'protobuf',
  words: WORDS,
  seeds: traceRequests,
  run(input) {
    claimedSender(input)
    const reference = compare('ExportTraceServiceRequest', input)
    const decoded = onlyThrows(isMalformed, () => decodeTraces(input))
    if (decoded === undefined) return
    const spans = decoded.resources.flatMap(({ scopes }) => scopes.flatMap(({ records }) => records))
    for (const span of spans) {
      readLinks(span.raw, 1_000)
      readOwnSpan(span.raw)
      const patched = patchSpan(span.raw, {
        traceId: Buffer.alloc(16, 7),
        parentId: 5n,
        attributes: [],
        linkTraceIds: new Map([[0, Buffer.alloc(16, 9)]]),
        addLinks: [{ traceId: Buffer.alloc(16, 3), spanId: 3n }],
      })
      strictEqual(readOwnSpan(patched).spanId, span.spanId)
    }
    if (reference === undefined) return
    const expected = recordsIn(reference, 'resourceSpans', 'scopeSpans', 'spans')
    strictEqual(spans.length + decoded.rejected, expected.length)
    if (decoded.rejected > 0) return
    for (const [at, span] of spans.entries()) {
      const wanted = expected[at]!
      strictEqual(span.name, wanted.name ?? '')
      strictEqual(span.kind, wanted.kind ?? 0)
      strictEqual(span.status, wanted.status?.code ?? 0)
      strictEqual(span.startNs, clamped(wanted.startTimeUnixNano))
      strictEqual(asCpid(span.cpid), asCpid(carried(wanted)))
    }
  },
}

export const logs: Target = {
  name: 'otlp-logs',
  shape: 'protobuf',
  words: WORDS,
  seeds: logRequests,
  run(input) {
    const reference = compare('ExportLogsServiceRequest', input)
    const decoded = onlyThrows(isMalformed, () => decodeLogs(input))
    if (decoded === undefined) return
    const records = decoded.resources.flatMap(({ scopes }) => scopes.flatMap((scope) => scope.records))
    for (const { raw } of records) {
      traceIdOfLog(raw)
      hasOwnAttribute(raw, 'cpid.id')
      const patched = patchLog(raw, { traceId: Buffer.alloc(16, 7), withoutSpanId: true, attributes: [] })
      deepStrictEqual(traceIdOfLog(patched), Buffer.alloc(16, 7))
    }
    if (reference === undefined) return
    const expected = recordsIn(reference, 'resourceLogs', 'scopeLogs', 'logRecords')
    strictEqual(records.length + decoded.rejected, expected.length)
    for (const [at, record] of records.entries()) {
      const wanted = expected[at]!
      strictEqual(record.severity, wanted.severityNumber ?? 0)
      if (wanted.eventName !== undefined) strictEqual(record.eventName, wanted.eventName)
      strictEqual(asCpid(record.cpid), asCpid(carried(wanted)))
    }
  },
}

export const messages: Target = {
  name: 'otlp-messages',
  shape: 'protobuf',
  seeds: () => [...traceRequests(), ...logRequests()],
  run(input) {
    for (const message of ['Span', 'LogRecord', 'AnyValue', 'KeyValue', 'ResourceSpans', 'Resource'] as const)
      compare(message, input)
    compare('ExportMetricsServiceRequest', input)
  },
}
