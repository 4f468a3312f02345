import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { createLogger, type Logger, type LoggerSettings } from '../../src/platform/logger.ts'

/** The screen cleared, a colour, its short form, text from right to left, a tag nobody sees, a line of its own. */
const COMMANDS = ['\u001b[2J', '\u009b31m', '\u202e', '\u{e0041}', '\u2028', '\r', '\0', '\\', '\ud800']

function recording(changes: Partial<LoggerSettings> = {}): { log: Logger; lines: string[] } {
  const lines: string[] = []
  const log = createLogger({
    level: 'info',
    encoding: 'console',
    clock: { wallMs: () => Date.UTC(2026, 0, 2, 3, 4, 5, 67) },
    write: (line) => lines.push(line),
    caller: 'service',
    ...changes,
  })
  return { log, lines }
}

test('console lines are time, level, caller, message and fields between tabs', () => {
  const { log, lines } = recording()
  log.info('Everything is ready. Begin running and processing data.')
  log.warn('Starting GRPC server', {
    endpoint: '127.0.0.1:4317',
    port: 4317,
    at: 5n,
    roots: ['a'],
    none: undefined,
  })
  expect(lines).toEqual([
    '2026-01-02T03:04:05.067Z\tinfo\tservice\tEverything is ready. Begin running and processing data.',
    '2026-01-02T03:04:05.067Z\twarn\tservice\tStarting GRPC server\t' +
      '{"endpoint":"127.0.0.1:4317","port":4317,"at":"5","roots":["a"]}',
  ])
})

test('json lines carry level, ts, caller and msg, which no field can replace', () => {
  const { log, lines } = recording({ encoding: 'json' })
  log.error('failed', { reason: 'disk\nfull', level: 'x' })
  expect(lines).toEqual([
    '{"level":"error","ts":"2026-01-02T03:04:05.067Z","caller":"service","msg":"failed","reason":"disk\\nfull"}',
  ])
})

test('less serious lines are left out', () => {
  const { log, lines } = recording({ level: 'warn' })
  log.debug('no')
  log.info('no')
  log.warn('yes')
  log.error('yes')
  expect(lines).toHaveLength(2)
  const chatty = recording({ level: 'debug' })
  chatty.log.debug('yes')
  expect(chatty.lines).toHaveLength(1)
})

test('a child speaks for its part and keeps the fields above it', () => {
  const { log, lines } = recording({ fields: { 'service.name': 'causeway' } })
  const child = log.child('exporter', { 'otelcol.component.id': 'debug' }).child('outbox', { part: 1 })
  child.info('sent', { part: 2 })
  expect(lines[0]).toBe(
    '2026-01-02T03:04:05.067Z\tinfo\toutbox\tsent\t' +
      '{"service.name":"causeway","otelcol.component.id":"debug","part":2}',
  )
})

test('a message stays on one line and in one column', () => {
  const { log, lines } = recording()
  log.info('one\r\ntwo\tthree')
  expect(lines[0]?.split('\t')[3]).toBe('one two three')
})

test.each(['console', 'json'] as const)(
  'text of a sender that commands a terminal, or reads as another, is shown and not obeyed in %s lines',
  (encoding) => {
    const { log, lines } = recording({ encoding })
    fc.assert(
      fc.property(fc.string({ unit: fc.oneof(fc.constantFrom(...COMMANDS), fc.string()) }), (text) => {
        lines.length = 0
        log.info(`Span ${text}`, { reason: text })
        const [line = ''] = lines
        expect(line.replaceAll('\t', '')).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u)
        const fields = JSON.parse(line.slice(line.lastIndexOf('\t') + 1)) as { reason: string }
        expect(fields.reason).toBe(text)
      }),
    )
  },
)
