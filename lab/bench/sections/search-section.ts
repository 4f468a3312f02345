import { statSync } from 'node:fs'
import { join } from 'node:path'
import {
  DATABASE,
  startMeasuredCauseway,
  type MeasuredCauseway,
} from '../../harness/causeway/measured-causeway.ts'
import { freshDirectory } from '../../harness/fresh-directory.ts'
import { fillDatabase, UNPRUNED } from '../fill/fill-database.ts'
import type { Figure, SectionResult } from '../measure/figures.ts'
import type { Options } from '../options.ts'

const RARE_TRACE = '7f'.repeat(16)
const HOUR_S = 3_600

/** What Grafana asks by TraceQL of the last hour, in which a database was filled. */
const SEARCHES = {
  rareMs: '{ span.app.release = "2026.48" }',
  absentMs: '{ span.app.release = "nowhere" }',
  rareNameMs: '{ name = "roll out 2026.48" }',
  slowMs: '{ duration > 1m }',
  structuralMs: '{ span.app.release = "2026.48" } >> { kind = client }',
  absentNameMs: '{ name =~ "no.*such" }',
  everyMs: '{ span.cpid.id =~ "no.*such" }',
} as const

interface TempoSearch {
  traces: { traceID: string }[]
  status?: string
  metrics: { inspectedSpans: string }
}

/** TraceQL over a large database at rest, all of it within the hour that is asked for. */
export async function benchSearch(options: Options, onRound: () => void): Promise<SectionResult> {
  using directory = freshDirectory(options.directory)
  const path = join(directory.path, DATABASE)
  const filled = await fillDatabase(path, options.scaleSpans)
  const size = statSync(path).size
  const causeway = await startMeasuredCauseway(options, directory.path, undefined, UNPRUNED)
  const rounds: Record<string, number>[] = []
  try {
    await sendRareSpans(causeway)
    const firstMs = await searchFirst(causeway)
    for (let round = 0; round < options.rounds; round++) {
      rounds.push({ firstMs, ...(await askAll(causeway)) })
      onRound()
    }
  } finally {
    await causeway.stop()
  }
  const ms = (label: string, atMost?: number): Figure => ({
    label,
    unit: 'ms',
    digits: 0,
    ...(atMost !== undefined && { target: { atMost } }),
  })
  return {
    name: 'search',
    about: `TraceQL over HTTP, one after the other, over an hour with ${filled.spans} spans (${Math.round(size / 2 ** 20)} MiB), two of them with the attribute that is looked for`,
    figures: {
      firstMs: ms('the first search after a start, once in all rounds'),
      rareMs: ms('an attribute that two spans have', 1_000),
      absentMs: ms('an attribute value that no span has', 3_000),
      rareNameMs: ms('a name that one span has', 1_000),
      slowMs: ms('a duration that two spans have', 1_000),
      structuralMs: ms('descendants of a span with a rare attribute', 1_000),
      absentNameMs: ms('a regular expression on names, which no span meets', 3_000),
      everyMs: ms('a regular expression on an attribute of all spans, which none meets'),
      everyRate: { label: '… of it', unit: 'spans/s', digits: 0, target: { atLeast: 1_000_000 } },
      metricsMs: ms('rate() of all spans by service'),
      partial: { label: 'answers that were not complete', unit: '', digits: 0, target: { atMost: 0 } },
    },
    rounds,
  }
}

/** A parent of two minutes and its child, sent as anybody sends them. */
async function sendRareSpans({ httpEndpoint }: MeasuredCauseway): Promise<void> {
  const endNs = BigInt(Date.now()) * 1_000_000n
  const span = (spanId: string, name: string, kind: number, parentSpanId?: string) => ({
    traceId: RARE_TRACE,
    spanId,
    ...(parentSpanId !== undefined && { parentSpanId }),
    name,
    kind,
    startTimeUnixNano: String(endNs - 120_000_000_000n),
    endTimeUnixNano: String(endNs),
    attributes: [{ key: 'app.release', value: { stringValue: '2026.48' } }],
  })
  const spans = [span('01'.repeat(8), 'roll out 2026.48', 1), span('02'.repeat(8), 'PUT', 3, '01'.repeat(8))]
  const answer = await fetch(`http://${httpEndpoint}/v1/traces`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }),
  })
  if (!answer.ok) throw new Error(`Causeway answered ${answer.status} to the spans to be found`)
}

async function askAll(causeway: MeasuredCauseway): Promise<Record<string, number>> {
  const figures: Record<string, number> = { partial: 0 }
  for (const [key, q] of Object.entries(SEARCHES)) {
    const { ms, found, isPartial, inspectedSpans } = await search(causeway, q)
    const isFound = key !== 'absentMs' && key !== 'absentNameMs' && key !== 'everyMs'
    if (!isPartial && found !== isFound)
      throw new Error(`${q} ${found ? 'finds' : 'does not find'} the rare trace`)
    figures[key] = ms
    if (key === 'everyMs') figures['everyRate'] = (inspectedSpans * 1_000) / ms
    if (isPartial) figures['partial'] = (figures['partial'] ?? 0) + 1
  }
  figures['metricsMs'] = (
    await ask(causeway, 'metrics/query_range', '{} | rate() by (resource.service.name)')
  ).ms
  return figures
}

/** It reads every span, for which one search may not have the time: those after it go on where it ended. */
async function searchFirst(causeway: MeasuredCauseway): Promise<number> {
  const startedMs = performance.now()
  while ((await search(causeway, SEARCHES.rareMs)).isPartial);
  return performance.now() - startedMs
}

async function search(
  causeway: MeasuredCauseway,
  q: string,
): Promise<{ ms: number; found: boolean; isPartial: boolean; inspectedSpans: number }> {
  const { ms, body } = await ask(causeway, 'search', q)
  const { traces, status, metrics } = body as TempoSearch
  const found = traces.some(({ traceID }) => traceID === RARE_TRACE)
  return { ms, found, isPartial: status === 'PARTIAL', inspectedSpans: Number(metrics.inspectedSpans) }
}

async function ask(
  { query }: MeasuredCauseway,
  path: string,
  q: string,
): Promise<{ ms: number; body: unknown }> {
  const end = Math.ceil(Date.now() / 1_000) + 1
  const asked = new URLSearchParams({ q, start: String(end - HOUR_S), end: String(end) })
  const startedMs = performance.now()
  const answer = await fetch(`http://${query}/tempo/api/${path}?${asked.toString()}`)
  const text = await answer.text()
  const ms = performance.now() - startedMs
  if (!answer.ok) throw new Error(`${q}: ${answer.status} ${text}`)
  return { ms, body: JSON.parse(text) }
}
