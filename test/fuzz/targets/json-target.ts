import { deepStrictEqual, ok } from 'node:assert/strict'
import type { Signal } from '../../../src/model/otlp-requests.ts'
import { JsonCursor } from '../../../src/model/otlp/json-cursor.ts'
import { protobufOfJson } from '../../../src/model/otlp/json-to-protobuf.ts'
import { EXPORT_REQUEST } from '../../../src/model/otlp/message-schema.ts'
import { type JsonObject, jsonOfProtobuf } from '../../../src/model/otlp/protobuf-to-json.ts'
import { MalformedOtlp } from '../../../src/model/otlp/protobuf-wire.ts'
import { onlyThrows } from '../only-throws.ts'
import { otlpJson, referenceJson, referenceOfJson } from '../reference-decoder.ts'
import { logRequests, traceRequests } from '../seed-requests.ts'
import type { Target } from '../target.ts'

const isMalformed = (error: unknown): boolean => error instanceof MalformedOtlp

/** An object that names a member twice, which decoders may read either way. */
function namesTwice(text: Buffer): boolean {
  const cursor = new JsonCursor(text)
  let twice = false
  const walk = (): void => {
    const kind = cursor.kind()
    if (kind === 'array') for (let more = cursor.enterArray(); more; more = cursor.nextElement()) walk()
    else if (kind === 'object') {
      const seen = new Set<string>()
      for (let more = cursor.enterObject(); more; more = cursor.nextMember()) {
        twice ||= seen.has(cursor.lastString)
        seen.add(cursor.lastString)
        walk()
      }
    } else cursor.skip()
  }
  walk()
  return twice
}

export const json: Target = {
  name: 'otlp-json',
  shape: 'text',
  words: [
    'null',
    '{}',
    '[]',
    '"\\ud800"',
    '1e400',
    '-1',
    '"18446744073709551616"',
    '"NaN"',
    '\\u0000',
    '"__proto__":1,',
  ],
  seeds: () =>
    [
      ...traceRequests().map((bytes) => jsonOfProtobuf('ExportTraceServiceRequest', bytes)),
      ...logRequests().map((bytes) => jsonOfProtobuf('ExportLogsServiceRequest', bytes)),
    ].map((value) => Buffer.from(JSON.stringify(value))),
  run(input) {
    for (const signal of ['traces', 'logs', 'metrics'] as const) checkSignal(signal, input)
  },
}

function checkSignal(signal: Signal, input: Buffer): void {
  const bytes = onlyThrows(isMalformed, () => protobufOfJson(signal, input))
  if (bytes === undefined) return
  const message = EXPORT_REQUEST[signal]
  const reference = referenceJson(message, bytes)
  ok(reference !== undefined, 'what was written is no protobuf')
  const shown = jsonOfProtobuf(message, bytes)
  deepStrictEqual(otlpJson(message, shown, 'as they are'), reference)
  const parsed = JSON.parse(input.toString()) as JsonObject
  if (namesTwice(input)) return
  const expected = referenceOfJson(message, parsed)
  if (expected !== undefined) deepStrictEqual(reference, expected)
}
