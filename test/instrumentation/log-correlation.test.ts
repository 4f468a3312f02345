import { afterAll, beforeAll, describe, test, expect } from '@jest/globals'
import { Console } from 'node:console'
import { PassThrough } from 'node:stream'
import { context } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { withTraceContext } from '../../packages/instrumentation/src/context/active-trace-context.ts'
import { consoleWithCpid } from '../../packages/instrumentation/src/telemetry/console-with-cpid.ts'
import { cpidLogFields, cpidWinstonFormat } from '../../packages/instrumentation/src/telemetry/log-fields.ts'
import { parseCpidFromLine } from '../../packages/instrumentation/src/telemetry/parse-cpid-from-line.ts'
import { cpid } from '../support/otlp-requests.ts'

const GAMMA = { cpid: cpid(3), ancestors: [cpid(1)] }
const MARK = `cpid.id="${cpid(3)}"`

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
})
afterAll(() => context.disable())

describe('fields of structured lines', () => {
  test('are there inside a trace context, each time anew', () => {
    const [first, second] = withTraceContext(GAMMA, () => [cpidLogFields(), cpidLogFields()])
    expect(first).toEqual({ 'cpid.id': cpid(3) })
    expect(second).not.toBe(first)
    expect(cpidLogFields()).toEqual({})
  })

  test('winston puts them into what it logs', () => {
    const { transform } = cpidWinstonFormat()
    const log = (info: object) => withTraceContext(GAMMA, () => transform(info))
    expect(log({ level: 'info' })).toEqual({ level: 'info', 'cpid.id': cpid(3) })
    expect(log({ 'cpid.id': cpid(9) })).toEqual({ 'cpid.id': cpid(9) })
    expect(transform({ level: 'info' })).toEqual({ level: 'info' })
  })
})

describe('a console', () => {
  function lines(log: (marking: Console) => void): string[] {
    const stdout = new PassThrough()
    const marking = consoleWithCpid(new Console({ stdout, stderr: stdout }))
    log(marking)
    const text: unknown = stdout.read()
    return String(text).split('\n').slice(0, -1)
  }

  test.each<[string, (marking: Console) => void, string[]]>([
    ['text', (marking) => marking.log('created'), [`${MARK} created`]],
    ['a format', (marking) => marking.warn('%s: %d', 'created', 2), [`${MARK} created: 2`]],
    ['an object', (marking) => marking.info({ a: 1 }, 2), [`${MARK} { a: 1 } 2`]],
    ['an error', (marking) => marking.error(Object.assign(new Error('e'), { stack: 'e' })), [`${MARK} [e]`]],
    ['details', (marking) => marking.debug('a'), [`${MARK} a`]],
    ['nothing', (marking) => marking.log(), ['']],
    ['in other ways', (marking) => marking.dir({ a: 1 }), ['{ a: 1 }']],
  ])('marks what is logged inside a trace context: %s', (_, log, expected) => {
    expect(lines((marking) => withTraceContext(GAMMA, () => log(marking)))).toEqual(expected)
  })

  test('marks nothing outside', () => {
    expect(lines((marking) => marking.log('started'))).toEqual(['started'])
  })
})

describe('the CPID of a line', () => {
  const KLOG = 'I0102 03:04:05.678901    1234 deployment_controller.go:601]'
  test.each([
    ['klog', `${KLOG} "Syncing" deployment="default/web" cpid="${cpid(3)}"`, cpid(3)],
    ['klog, in the middle', `${KLOG} "Syncing" cpid="${cpid(3)}" attempt=2`, cpid(3)],
    ['klog, without quotes', `${KLOG} syncing cpid=${cpid(3)} attempt=2`, cpid(3)],
    ['klog, of this console', `${MARK} created`, cpid(3)],
    ['logfmt', `level=info cpid_id=${cpid(3)}`, cpid(3)],
    ['upper case', `cpid="${cpid(0xa).toUpperCase()}"`, cpid(0xa)],
    ['JSON of pino', `{"level":30,"cpid.id":"${cpid(3)}","msg":"created"}\n`, cpid(3)],
    ['JSON of klog', `{"ts":1.5,"msg":"Syncing","v":0,"cpid":"${cpid(3)}"}`, cpid(3)],
    [
      'the console encoder of zap',
      `2026-01-01T00:00:00Z\tINFO\tSyncing\t{"controller": "web", "cpid": "${cpid(3)}"}`,
      cpid(3),
    ],
    ['JSON after a prefix', `2026-01-01T00:00:00Z stdout F {"cpid":"${cpid(3)}"}`, cpid(3)],
    ['the second, when the first is none', `cpid="" cpid.id="${cpid(3)}"`, cpid(3)],
    ['a message about a CPID', `${KLOG} "Saw cpid=${cpid(1)}" cpid="${cpid(3)}"`, cpid(3)],
    ['only a message about a CPID', `${KLOG} "Saw cpid=${cpid(1)} \\" cpid=${cpid(1)}"`, undefined],
    ['another key', `${KLOG} "Syncing" parentcpid="${cpid(3)}"`, undefined],
    ['no UUID', `${KLOG} "Syncing" cpid="change-1"`, undefined],
    ['JSON with another type', '{"cpid":7}', undefined],
    ['JSON that is cut off', `{"msg":"Syncing","cpid":"${cpid(3)}`, undefined],
    ['an array', `["cpid","${cpid(3)}"]`, undefined],
    ['nothing', '', undefined],
  ])('%s', (_, line, expected) => {
    expect(parseCpidFromLine(line)).toBe(expected)
  })

  test.each(['"', '"\\', 'cpid=', 'cpid="', ' {"a":', '{"', ' {', 'a', ' '])(
    '256 KiB of %p take no time to speak of',
    (piece) => {
      expect(parseCpidFromLine(`${piece.repeat((256 * 1024) / piece.length)}}`)).toBeUndefined()
    },
  )
})
