import { expect, test } from '@jest/globals'
import { protobufOfJson } from '../../src/model/otlp/json-to-protobuf.ts'
import { jsonOfProtobuf } from '../../src/model/otlp/protobuf-to-json.ts'

/** What a span given as JSON text looks like after the way through protobuf. */
function span(json: string): unknown {
  const body = Buffer.from(`{"resourceSpans":[{"scopeSpans":[{"spans":[${json}]}]}]}`)
  const { resourceSpans } = jsonOfProtobuf('ExportTraceServiceRequest', protobufOfJson('traces', body))
  return (resourceSpans as [{ scopeSpans: [{ spans: [unknown] }] }])[0].scopeSpans[0].spans[0]
}

test('writes the bytes that protobuf prescribes', () => {
  const record = { timeUnixNano: '1', eventName: 'cpid.mergelog' }
  const body = Buffer.from(JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] }))
  const fields = '09' + '0100000000000000' + '62' + '0d' + Buffer.from('cpid.mergelog').toString('hex')
  expect(Buffer.from(protobufOfJson('logs', body)).toString('hex')).toBe('0a1c' + '121a' + '1218' + fields)
})

test.each([
  [
    'ids in either case',
    '{"traceId":"5B8EFFF798038103d269b633813fc60c"}',
    { traceId: '5b8efff798038103d269b633813fc60c' },
  ],
  [
    'a time as a string',
    '{"startTimeUnixNano":"1544712660300000001"}',
    { startTimeUnixNano: '1544712660300000001' },
  ],
  [
    'a time as a number, exactly',
    '{"startTimeUnixNano":1544712660300000001}',
    { startTimeUnixNano: '1544712660300000001' },
  ],
  [
    'a number with an exponent',
    '{"startTimeUnixNano":1.5447126603e18}',
    { startTimeUnixNano: '1544712660300000000' },
  ],
  ['a count as a string', '{"droppedLinksCount":"7"}', { droppedLinksCount: 7 }],
  ['an enum as an integer', '{"kind":2,"status":{"code":2}}', { kind: 2, status: { code: 2 } }],
  ['null as absent', '{"name":null,"events":null,"status":null,"kind":1}', { kind: 1 }],
  ['unknown members as if not there', '{"x":{"y":[1,{"z":null}]},"trace_id":"ff","name":"n"}', { name: 'n' }],
  ['escaped names', '{"n\\u0061me":"\\u00e9\\n"}', { name: 'é\n' }],
  ['an empty message', '{"status":{}}', { status: {} }],
  ['defaults as absent', '{"name":"","kind":0,"flags":0,"startTimeUnixNano":"0"}', {}],
])('takes %s', (_, json, expected) => {
  expect(span(json)).toEqual(expected)
})

test.each([
  ['{"stringValue":""}', { stringValue: '' }],
  ['{"boolValue":false}', { boolValue: false }],
  ['{"intValue":"-9223372036854775808"}', { intValue: '-9223372036854775808' }],
  ['{"intValue":9223372036854775807}', { intValue: '9223372036854775807' }],
  ['{"doubleValue":"NaN"}', { doubleValue: 'NaN' }],
  ['{"doubleValue":"-Infinity"}', { doubleValue: '-Infinity' }],
  ['{"doubleValue":"1.5"}', { doubleValue: 1.5 }],
  ['{"bytesValue":"_-8="}', { bytesValue: '/+8=' }],
  ['{"arrayValue":{"values":[{},{"intValue":1}]}}', { arrayValue: { values: [{}, { intValue: '1' }] } }],
  ['{"kvlistValue":{"values":[{"key":"k"}]}}', { kvlistValue: { values: [{ key: 'k' }] } }],
  ['{"stringValueStrindex":3}', {}],
  ['{}', {}],
])('takes the attribute value %s', (json, expected) => {
  expect(span(`{"attributes":[{"key":"a","value":${json}}]}`)).toEqual({
    attributes: [{ key: 'a', value: expected }],
  })
})

test.each(['W47/95gDgQPSabYzgT/GDA==', 'xyz', 'abc', '5b8efff79803810', ''])(
  'an id that is not hexadecimal, %j, is left empty for its span to be refused alone',
  (id) => {
    expect(span(JSON.stringify({ traceId: id, spanId: id, name: 'kept' }))).toEqual({ name: 'kept' })
  },
)

const at = '$.resourceSpans[0].scopeSpans[0].spans[0]'

test.each([
  ['{"traceId":5}', `${at}.traceId: expected a string, found a JSON number`],
  ['{"name":{}}', `${at}.name: expected a string, found a JSON object`],
  ['{"kind":true}', `${at}.kind: expected an integer or a name, found a JSON boolean`],
  ['{"kind":1.5}', `${at}.kind: expected an integer, found "1.5"`],
  ['{"kind":2147483648}', `${at}.kind: 2147483648 is out of range`],
  ['{"startTimeUnixNano":"-1"}', `${at}.startTimeUnixNano: -1 is out of range`],
  [
    '{"startTimeUnixNano":"18446744073709551616"}',
    `${at}.startTimeUnixNano: 18446744073709551616 is out of range`,
  ],
  ['{"startTimeUnixNano":"soon"}', `${at}.startTimeUnixNano: expected an integer, found "soon"`],
  ['{"startTimeUnixNano":""}', `${at}.startTimeUnixNano: expected an integer, found ""`],
  [`{"startTimeUnixNano":${'9'.repeat(401)}}`, 'found 401 characters'],
  ['{"droppedLinksCount":"0x10"}', `${at}.droppedLinksCount: expected an integer, found "0x10"`],
  ['{"droppedLinksCount":true}', `${at}.droppedLinksCount: expected an integer or a string of one`],
  ['{"events":{}}', `${at}.events: expected an array, found a JSON object`],
  ['{"events":[null]}', `${at}.events[0]: expected an object, found a JSON null`],
  ['{"status":[]}', `${at}.status: expected an object, found a JSON array`],
  [
    '{"attributes":[{"value":{"boolValue":"true"}}]}',
    `${at}.attributes[0].value.boolValue: expected true or false`,
  ],
  ['{"attributes":[{"value":{"doubleValue":"fast"}}]}', 'doubleValue: expected a number, found "fast"'],
  ['{"attributes":[{"value":{"doubleValue":1e999}}]}', 'doubleValue: expected a number, found "1e999"'],
  ['{"attributes":[{"value":{"bytesValue":"%"}}]}', 'bytesValue: expected base64'],
  ['{"name":"n",}', `unexpected '}' at byte`],
])('refuses %s', (json, reason) => {
  expect(() => span(json)).toThrow(reason)
  expect(() => span(json)).toThrow(expect.objectContaining({ name: 'MalformedOtlp' }))
})

test.each(['', '[]', '"text"', '{} {}', 'null', '{"resourceSpans":['])('refuses the body %j', (body) => {
  expect(() => protobufOfJson('traces', Buffer.from(body))).toThrow(
    expect.objectContaining({ name: 'MalformedOtlp' }),
  )
})

test('values nested too deep are refused', () => {
  const nested = (levels: number) =>
    `{"attributes":[{"key":"a","value":${'{"arrayValue":{"values":['.repeat(levels)}{}${']}}'.repeat(levels)}}]}`
  expect(span(nested(29))).toHaveProperty('attributes')
  expect(() => span(nested(30))).toThrow('messages are nested more than 64 deep')
  expect(() => span(nested(100_000))).toThrow('messages are nested more than 64 deep')
})

test('an empty request becomes an empty message', () => {
  expect(protobufOfJson('traces', Buffer.from('{}'))).toHaveLength(0)
})
