import { howRun } from './operator-section.ts'
import type { EvaluationData } from '../evaluation-data.ts'
import { findingsOf as operatorFindings, MOST_MORE_MS } from '../operator/findings.ts'
import { findingsOf, MAX_ADDED_PERCENT, PAPER } from '../overhead/findings.ts'
import { aimsOf } from './inference-aims.ts'
import { number } from '../../charts/markdown.ts'

/** The outcome in a few rows, the first of them the heading. */
export function summaryTable(data: EvaluationData): string[][] {
  return [
    ['what', 'Causeway', 'the paper', 'aim'],
    ...mergesRows(data),
    ...overheadRows(data),
    ...operatorRows(data),
    ...replacementRows(data),
    ...traceabilityRows(data),
    ...inferenceRows(data),
  ]
}

export function summaryText(data: EvaluationData): string {
  const rows = summaryTable(data)
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? []
  return rows
    .map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
    .map((line) => line.trimEnd())
    .join('\n')
}

function mergesRows({ merges }: EvaluationData): string[][] {
  return (merges?.data.points ?? [])
    .filter(({ limit }) => [5, 10, 15].includes(limit))
    .map(({ limit, merges: { mean }, percent, paperPercent, avoidable, atMost = 0 }) => [
      `merges left at N = ${limit}`,
      `${number(mean)} (${number(percent, 1)} % of N = 0); ${number(avoidable, 3)} of the avoidable ones`,
      paperPercent === undefined ? 'the floor' : `${paperPercent} % of N = 0`,
      `at most ${atMost} of the avoidable ones: ${avoidable <= atMost ? 'met' : 'missed'}`,
    ])
}

function overheadRows({ overhead }: EvaluationData): string[][] {
  if (overhead === undefined) return []
  const { addedPercent, addedBetween, isMet, cpuUs } = findingsOf(overhead.data)
  const { idleMillicores, millicores, mib } = overhead.data.propagation.bridge
  const added = `${addedPercent < 0 ? '−' : '+'}${number(Math.abs(addedPercent), 1)} %`
  return [
    [
      'propagation time with instrumentation',
      `${added} (95 %: ${number(addedBetween.from, 1)} to ${number(addedBetween.to, 1)} %)`,
      `+${number(100 * (PAPER.tracedSeconds / PAPER.plainSeconds - 1))} %`,
      `at most +${MAX_ADDED_PERCENT} %: ${isMet ? 'met' : 'missed'}`,
    ],
    [
      'CPU of the bridge during a run',
      `${number(idleMillicores + millicores, 1)} mCPU`,
      `${PAPER.millicores} mCPU`,
      '',
    ],
    ['memory of the bridge', `${number(mib)} MiB`, `${PAPER.mib} MiB`, ''],
    [
      'CPU of a reconcile, without and with',
      `${number(cpuUs.plain.median)} µs and ${number(cpuUs.sent.median)} µs`,
      '',
      '',
    ],
  ]
}

function operatorRows({ operator }: EvaluationData): string[][] {
  if (operator === undefined) return []
  const { added, readyMs, cpuMsEach, kubectlMs } = operatorFindings(operator.data)
  const seconds = (ms: number) => `${number(ms / 1_000, 1)} s`
  return [
    [
      `a real cluster: ${operator.data.webApps} WebApps until ready, plain and instrumented`,
      `${seconds(readyMs.plain.median)} and ${seconds(readyMs.traced.median)} (${added.percent < 0 ? '−' : '+'}${number(Math.abs(added.percent), 1)} %)`,
      `${PAPER.plainSeconds} s and ${PAPER.tracedSeconds} s, of another scenario`,
      '',
    ],
    [
      'a real cluster: CPU of the operator for each, plain and instrumented',
      `${number(cpuMsEach.plain, 1)} ms and ${number(cpuMsEach.traced, 1)} ms`,
      '',
      '',
    ],
    [
      `\`causeway kubectl\` beyond kubectl (${howRun(operator.data)})`,
      `${number(kubectlMs.more.median)} ms`,
      '',
      `under ${MOST_MORE_MS} ms: ${kubectlMs.isMet ? 'met' : 'missed'}`,
    ],
  ]
}

function replacementRows({ replacement }: EvaluationData): string[][] {
  return (replacement?.data.scenes ?? []).map(({ name, verdicts }) => [
    `spans given to a wrong change, ${name}`,
    verdicts
      .filter(({ method }) => !method.includes('no timestamps'))
      .map(({ verdict: { misattributedSpans, spans } }) => `${number((100 * misattributedSpans) / spans)} %`)
      .join('; '),
    '',
    'new CPID; replacement with timestamps (last stays; first stays)',
  ])
}

function traceabilityRows({ traceability }: EvaluationData): string[][] {
  if (traceability === undefined) return []
  const count = (traced: string) => traceability.data.filter((row) => row.traced === traced).length
  return [
    ['kinds of changes', `${count('yes')} traced, ${count('partly')} partly, ${count('no')} not`, '', ''],
  ]
}

function inferenceRows({ inference }: EvaluationData): string[][] {
  return aimsOf(inference?.data).map(({ what, percent, aim, isMet }) => [
    what,
    `${number(percent, 2)} %`,
    '',
    `${aim}: ${isMet ? 'met' : 'missed'}`,
  ])
}
