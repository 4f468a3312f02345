import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mock } from 'node:test'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Authority } from '../../lab/harness/certificates.ts'
import { DEFAULT_CLIENT_TLS, openClientTls, openServerTls } from '../../src/platform/tls.ts'

const DAY_MS = 86_400_000
const FIRST_DAY_MS = Date.UTC(2030, 0, 1)
const DAYS = 20

let folder = ''

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'causeway-certificate-times-'))
})

afterAll(() => rmSync(folder, { recursive: true }))

const isoOf = (day: number): string => new Date(FIRST_DAY_MS + day * DAY_MS).toISOString()
const asDer = (day: number): string => isoOf(day).replace(/[-:T]|\.\d+/g, '')

const day = fc.integer({ min: 0, max: DAYS })
/**
 * From one day until another; and what happens: days pass, or a certificate with other days takes its place, whose key comes before or
 * after it, and the files may be read between.
 */
const validity = fc.tuple(day, day).map(([a, b]) => ({ from: Math.min(a, b), to: Math.max(a, b) }))
const step = fc.oneof(
  fc.record({ passed: fc.integer({ min: -5, max: 5 }) }),
  fc.record({ replacedBy: validity, isKeyFirst: fc.boolean(), isReadBetween: fc.boolean() }),
)

test.each(['listener', 'client'])(
  'a %s tells of its certificate whenever it is not valid, and once',
  (side) => {
    const authority = new Authority()
    const certFile = join(folder, `${side}.crt`)
    const keyFile = join(folder, `${side}.key`)
    const write = (
      { from, to }: { from: number; to: number },
      isKeyFirst = false,
      between = (): void => undefined,
    ): void => {
      const { cert, key } = authority.issue({ from: asDer(from), to: asDer(to) })
      const writing = [() => writeFileSync(certFile, cert), () => writeFileSync(keyFile, key)]
      if (isKeyFirst) writing.reverse()
      writing[0]?.()
      between()
      writing[1]?.()
    }
    fc.assert(
      fc.property(validity, day, fc.array(step, { maxLength: 12 }), (first, startDay, steps) => {
        let valid = first
        let today = startDay
        const told: string[] = []
        // At noon, so that no day is the end of one.
        const wallMs = (): number => FIRST_DAY_MS + (today + 0.5) * DAY_MS
        const tls = { certFile, keyFile }
        const tell = (reason: string): void => void told.push(reason)
        const wrong = (): string =>
          today >= valid.to
            ? `that expired at ${isoOf(valid.to)}`
            : today < valid.from
              ? `that is not valid before ${isoOf(valid.from)}`
              : ''
        write(first)
        using followed =
          side === 'listener'
            ? openServerTls('receiver otlp', tls, tell, wallMs)
            : openClientTls({ ...DEFAULT_CLIENT_TLS, ...tls }, tell, wallMs)
        let before = ''
        const check = (): void => {
          const now = wrong()
          expect(told.splice(0)).toEqual(
            now === '' || now === before ? [] : [expect.stringContaining(`${certFile}) ${now}`)],
          )
          before = now
        }
        check()
        for (const each of steps) {
          if ('passed' in each) today += each.passed
          else
            write((valid = each.replacedBy), each.isKeyFirst, () => {
              if (each.isReadBetween) followed.look()
            })
          followed.look()
          followed.look()
          check()
        }
      }),
      { numRuns: 60 },
    )
  },
)

test('what is wrong with a file is told again when it comes back after it was right', () => {
  const told: string[] = []
  const authority = new Authority()
  const { cert, key } = authority.issue()
  const certFile = join(folder, 'again.crt')
  const keyFile = join(folder, 'again.key')
  writeFileSync(certFile, cert)
  writeFileSync(keyFile, key)
  using followed = openServerTls('receiver otlp', { certFile, keyFile }, (reason) => told.push(reason))
  const foreignKey = authority.issue().key
  for (const written of [foreignKey, key, foreignKey]) {
    writeFileSync(keyFile, written)
    followed.look()
    followed.look()
  }
  expect(told).toEqual([expect.stringContaining('own key'), expect.stringContaining('own key')])
})

test('what does not fit is told of after a moment, however rarely the files are read', () => {
  const told: string[] = []
  const authority = new Authority()
  const { cert, key } = authority.issue()
  const [certFile, keyFile] = [join(folder, 'rarely.crt'), join(folder, 'rarely.key')]
  writeFileSync(certFile, cert)
  writeFileSync(keyFile, key)
  const tls = { certFile, keyFile, reloadIntervalMs: 3_600_000 }
  mock.timers.enable({ apis: ['setInterval', 'setTimeout'] })
  try {
    using followed = openServerTls('receiver otlp', tls, (reason) => told.push(reason))
    const next = authority.issue()
    writeFileSync(certFile, next.cert)
    mock.timers.tick(3_600_000)
    expect(told).toEqual([])
    mock.timers.tick(10_000)
    expect(told).toEqual([expect.stringContaining('own key')])
    writeFileSync(keyFile, next.key)
    mock.timers.tick(3_590_000)
    expect(followed.current).toMatchObject({ cert: Buffer.from(next.cert) })
    expect(told).toHaveLength(1)
  } finally {
    mock.timers.reset()
  }
})

test.each(['reload_interval: 1h', 'no reload_interval'])(
  'of a certificate that expires it is told, with %s',
  (interval) => {
    const { cert, key } = new Authority().issue({ from: asDer(0), to: asDer(1) })
    const [certFile, keyFile] = [join(folder, 'expires.crt'), join(folder, 'expires.key')]
    writeFileSync(certFile, cert)
    writeFileSync(keyFile, key)
    const tls = {
      certFile,
      keyFile,
      ...(interval !== 'no reload_interval' && { reloadIntervalMs: 3_600_000 }),
    }
    const told: string[] = []
    let nowMs = FIRST_DAY_MS
    const pass = (ms: number): void => {
      nowMs += ms
      mock.timers.tick(ms)
    }
    mock.timers.enable({ apis: ['setInterval'] })
    try {
      using followed = openServerTls(
        'receiver otlp',
        tls,
        (reason) => told.push(reason),
        () => nowMs,
      )
      expect(followed.current).toMatchObject({ cert: Buffer.from(cert) })
      pass(DAY_MS - 1)
      expect(told).toEqual([])
      pass(DAY_MS)
      expect(told).toEqual([expect.stringContaining(`that expired at ${isoOf(1)}`)])
    } finally {
      mock.timers.reset()
    }
  },
)
