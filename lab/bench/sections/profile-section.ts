import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { freshDirectory } from '../../harness/fresh-directory.ts'
import type { Figure, SectionResult } from '../measure/figures.ts'
import { causesOf, type CpuProfile, type ProfiledThread, threadOf } from '../measure/profile-causes.ts'
import { sizeRound } from '../measure/round-size.ts'
import type { Options } from '../options.ts'
import { exportRound } from './export-section.ts'

/** The rows of the table: what each thread is busy with, in order; the rest of a thread is a row of its own. */
const ROWS: Readonly<Record<ProfiledThread, Readonly<Record<string, string>>>> = {
  main: {
    transport: 'HTTP/2 and gRPC',
    receive: 'admission, credentials, memory in flight',
    decode: 'reading what decides its turn',
    messages: 'messages to other threads',
    gc: 'garbage collection',
  },
  store: {
    commit: 'BEGIN and COMMIT, the disk included',
    arrivals: 'rows of requests and spans',
    readBack: 'reading spans back to link them',
    outbox: 'rows of decisions and traces',
    traceIds: 'index of trace ids',
    graph: 'merge graph',
    otherSql: 'other SQL',
    linker: 'linking',
    decode: 'decoding OTLP',
    schedule: 'turns',
    messages: 'messages to other threads',
    gc: 'garbage collection',
  },
  export: {
    outbox: 'reading decisions',
    otherSql: 'other SQL',
    decode: 'building export requests',
    build: 'deciding what to send',
    compression: 'gzip',
    transport: 'HTTP/2 and gRPC',
    messages: 'messages to other threads',
    gc: 'garbage collection',
  },
  checkpoint: { otherSql: 'copying from the write-ahead log' },
  query: {},
}

const key = (thread: ProfiledThread, cause: string): string => `${thread}_${cause}`

/** What each thread is busy with while spans are stored, linked and sent, in microseconds a span. */
export async function benchProfile(options: Options, onRound: () => void): Promise<SectionResult> {
  const rounds: Record<string, number>[] = []
  for (let round = 0; round < options.rounds; round++) {
    rounds.push(await profileRound(options))
    onRound()
  }
  return {
    name: 'profile',
    about: `${sizeRound(options).spans} spans a round, stored, linked and sent on once over gRPC (${options.compression}), with V8's CPU profiler in every thread`,
    figures: figures(),
    rounds,
  }
}

function figures(): Record<string, Figure> {
  const micros = (label: string): Figure => ({ label, unit: 'µs/span', digits: 2 })
  const rows = Object.entries(ROWS).flatMap(([thread, causes]) => [
    [`${thread}_all`, micros(`${thread} thread, busy`)] as const,
    ...Object.entries(causes).map(([cause, label]) => [`${thread}_${cause}`, micros(` ${label}`)] as const),
    [`${thread}_rest`, micros(' the rest')] as const,
  ])
  return { ...Object.fromEntries(rows), all: micros('all threads, busy') }
}

async function profileRound(options: Options): Promise<Record<string, number>> {
  using profiles = freshDirectory(options.directory)
  const { spans } = sizeRound(options)
  const nodeOptions = [...options.nodeOptions, '--cpu-prof', `--cpu-prof-dir=${profiles.path}`]
  await exportRound({ ...options, nodeOptions })
  const figures: Record<string, number> = { all: 0 }
  const add = (name: string, micros: number): void => void (figures[name] = (figures[name] ?? 0) + micros)
  for (const file of readdirSync(profiles.path)) {
    const profile = JSON.parse(readFileSync(join(profiles.path, file), 'utf8')) as CpuProfile
    const thread = threadOf(profile)
    for (const [cause, ms] of causesOf(profile)) {
      const micros = (ms * 1000) / spans
      add(key(thread, Object.hasOwn(ROWS[thread], cause) ? cause : 'rest'), micros)
      add(key(thread, 'all'), micros)
      add('all', micros)
    }
  }
  return figures
}
