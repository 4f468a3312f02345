import { WireType } from '@bufbuild/protobuf/wire'
import { expect, test } from '@jest/globals'
import {
  type DebugTransportSettings,
  openDebugTransport,
} from '../../../src/exporter/debug/debug-transport.ts'
import { bytesField, message, textField } from '../otlp-bytes.ts'
import { going } from '../transport-settings.ts'

const AT = 1_767_225_600_123_456_789n

const textValue = (text: string): Uint8Array => message((to) => textField(to, 1, text))
const keyValue = (key: string, value: Uint8Array): Uint8Array =>
  message((to) => bytesField(textField(to, 1, key), 2, value))
const listOf = (...values: Uint8Array[]): Uint8Array =>
  message((to) => values.forEach((value) => bytesField(to, 1, value)))

const VALUES: Record<string, Uint8Array> = {
  text: textValue('a "b"\n'),
  yes: message((to) => to.tag(2, WireType.Varint).bool(true)),
  whole: message((to) => to.tag(3, WireType.Varint).int64(-5)),
  real: message((to) => to.tag(4, WireType.Bit64).double(1.5)),
  list: message((to) => bytesField(to, 5, listOf(textValue('x'), textValue('y')))),
  map: message((to) => bytesField(to, 6, listOf(keyValue('k', textValue('v'))))),
  raw: message((to) => bytesField(to, 7, Uint8Array.of(1, 2, 3))),
  none: new Uint8Array(),
}

const event = message((to) =>
  bytesField(
    textField(to.tag(1, WireType.Bit64).fixed64(AT), 2, 'cpid.mergelog'),
    3,
    keyValue('cpid.new', textValue('c')),
  ),
)
const link = message((to) =>
  bytesField(bytesField(to, 1, new Uint8Array(16).fill(7)), 2, new Uint8Array(8).fill(8)),
)
const status = message((to) => textField(to, 2, 'went wrong').tag(3, WireType.Varint).int32(2))

function span(name: string): Uint8Array {
  return message((to) => {
    bytesField(to, 1, new Uint8Array(16).fill(1))
    bytesField(to, 2, new Uint8Array(8).fill(2))
    textField(to, 5, name)
    to.tag(6, WireType.Varint)
      .int32(2)
      .tag(7, WireType.Bit64)
      .fixed64(AT)
      .tag(8, WireType.Bit64)
      .fixed64(AT + 1n)
    for (const [key, value] of Object.entries(VALUES)) bytesField(to, 9, keyValue(key, value))
    bytesField(to, 11, event)
    bytesField(to, 13, link)
    to.tag(14, WireType.Varint).uint32(3)
    bytesField(to, 15, status)
  })
}

const record = message((to) => {
  to.tag(1, WireType.Bit64).fixed64(AT).tag(2, WireType.Varint).int32(9)
  textField(to, 3, 'INFO')
  bytesField(to, 5, textValue('body'))
  bytesField(to, 6, keyValue('a', textValue('b')))
  textField(to, 12, 'cpid.mergelog')
})

function request(...children: Uint8Array[]): Uint8Array {
  const resource = message((to) => bytesField(to, 1, keyValue('service.name', textValue('shop'))))
  const scope = message((to) => textField(textField(to, 1, 'lib'), 2, '1.0'))
  const scoped = message((to) => {
    bytesField(to, 1, scope)
    for (const child of children) bytesField(to, 2, child)
  })
  return message((to) =>
    bytesField(
      to,
      1,
      message((group) => bytesField(bytesField(group, 1, resource), 2, scoped)),
    ),
  )
}

async function shown(settings: Omit<DebugTransportSettings, 'write'>, bytes: Uint8Array): Promise<string> {
  const lines: string[] = []
  await using transport = openDebugTransport({ ...settings, write: (line) => lines.push(line) })
  expect(await transport.send(bytes, going())).toEqual({ kind: 'delivered', refused: 0, message: '' })
  return lines.join('\n')
}

test('basic counts', async () => {
  expect(await shown({ verbosity: 'basic' }, request(span('a'), span('b')))).toBe(
    'Traces {"resource spans": 1, "spans": 2}',
  )
  expect(await shown({ verbosity: 'basic', signal: 'logs' }, request(record))).toBe(
    'Logs {"resource logs": 1, "log records": 1}',
  )
  expect(await shown({ verbosity: 'basic' }, new Uint8Array())).toBe(
    'Traces {"resource spans": 0, "spans": 0}',
  )
})

test('normal gives each span a line, whatever is in its name', async () => {
  expect(await shown({ verbosity: 'normal' }, request(span('a\nb')))).toMatchInlineSnapshot(`
   "Traces {"resource spans": 1, "spans": 1}
   a b 01010101010101010101010101010101 0202020202020202 text="a \\"b\\"\\n" yes=true whole=-5 real=1.5 list=["x","y"] map={"k":"v"} raw="AQID" none=null"
  `)
})

test('detailed gives each fact a line', async () => {
  expect(await shown({ verbosity: 'detailed' }, request(span('a')))).toMatchInlineSnapshot(`
   "Traces {"resource spans": 1, "spans": 1}
   Span a
       trace id: 01010101010101010101010101010101
       span id: 0202020202020202
       parent span id: none
       kind: server
       start: 2026-01-01T00:00:00.123456789Z
       end: 2026-01-01T00:00:00.123456790Z
       status: error went wrong
       scope: lib 1.0
       resource attribute: service.name="shop"
       attribute: text="a \\"b\\"\\n"
       attribute: yes=true
       attribute: whole=-5
       attribute: real=1.5
       attribute: list=["x","y"]
       attribute: map={"k":"v"}
       attribute: raw="AQID"
       attribute: none=null
       event: 2026-01-01T00:00:00.123456789Z cpid.mergelog cpid.new="c"
       link: 07070707070707070707070707070707 0808080808080808
       dropped links: 3"
  `)
})

test('logs too', async () => {
  expect(await shown({ verbosity: 'normal', signal: 'logs' }, request(record))).toMatchInlineSnapshot(`
   "Logs {"resource logs": 1, "log records": 1}
   cpid.mergelog "body" a="b""
  `)
  expect(await shown({ verbosity: 'detailed', signal: 'logs' }, request(record))).toMatchInlineSnapshot(`
   "Logs {"resource logs": 1, "log records": 1}
   LogRecord cpid.mergelog
       time: 2026-01-01T00:00:00.123456789Z
       observed time: 1970-01-01T00:00:00.000000000Z
       severity: 9 INFO
       body: "body"
       trace id:
       span id:
       scope: lib 1.0
       resource attribute: service.name="shop"
       attribute: a="b""
  `)
})

test('deep nesting is cut short', async () => {
  let value = textValue('deep')
  for (let i = 0; i < 5000; i += 1) value = message((to) => bytesField(to, 5, listOf(value)))
  const nested = message((to) => bytesField(to, 9, keyValue('nested', value)))
  expect(await shown({ verbosity: 'normal' }, request(nested))).toMatch(/nested=\[{16}…\]{16}/)
})

test('bytes that are no request are refused', async () => {
  await using transport = openDebugTransport({ verbosity: 'basic', write: () => undefined })
  expect(await transport.send(Uint8Array.of(0x0a, 0x7f), going())).toMatchObject({ kind: 'refused' })
})
