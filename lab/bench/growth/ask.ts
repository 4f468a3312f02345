import { Agent } from 'node:http'
import { percentile } from '../measure/figures.ts'
import { textOf } from '../load/text-of.ts'

/** How long answers took, milliseconds: half within, 95 % within. */
interface AnswerTimes {
  p50Ms: number
  p95Ms: number
}

/** Asks over one connection, one after the other; the first question of a connection is not counted. */
export async function askAll(endpoint: string, paths: readonly string[]): Promise<AnswerTimes> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const times: number[] = []
  try {
    for (const path of [paths[0] ?? '', ...paths]) {
      const startedMs = performance.now()
      JSON.parse(await textOf(`http://${endpoint}/api/v1/${path}`, agent))
      times.push(performance.now() - startedMs)
    }
  } finally {
    agent.destroy()
  }
  const sorted = times.slice(1).sort((a, b) => a - b)
  return { p50Ms: percentile(sorted, 0.5), p95Ms: percentile(sorted, 0.95) }
}
