import { cpid, type SpanSketch } from './otlp-requests.ts'
import type { TestWriter } from './test-writer.ts'

const ROOT = cpid(1)
const STEP_MS = 10
const WAIT_MS = 7

export interface Chains {
  /** Objects, each written again and again, in turns. */
  objects: number
  /** How often each is written. */
  writes: number
}

/**
 * A change whose effects go round: in each round every object is reconciled once, by work of 10 ms that begins 7 ms after
 * the write before of the same object ended, with a step inside it of 4 ms. Spans come in the order in which they ended.
 */
export function ingestChains(writer: TestWriter, { objects, writes }: Chains): void {
  writer.mergelogs('kubectl', [{ new: ROOT, time: 0, object: 'apps/v1/deployments/default/web?rv=1' }])
  for (let round = 0; round < writes; round++) {
    const spans: SpanSketch[] = []
    for (let object = 0; object < objects; object++) spans.push(...reconcile(object, round, objects))
    writer.spans('controller', spans)
  }
  writer.link()
}

/** What the controller waited in all. */
export const waitedMs = ({ objects, writes }: Chains): number => objects * (writes - 1) * WAIT_MS

function reconcile(object: number, round: number, objects: number): SpanSketch[] {
  const number = round * objects + object + 1
  const start = 1 + round * (STEP_MS + WAIT_MS)
  const pod = (version: number): string => `v1/pods/default/p-${object}?rv=${version}`
  return [
    {
      trace: number,
      id: number * 10,
      name: `write ${round} of ${object}`,
      cpid: ROOT,
      start,
      end: start + STEP_MS,
      attributes: {
        ...(round > 0 && { 'cpid.observed': [pod(round)] }),
        'cpid.wrote': [pod(round + 1)],
      },
    },
    {
      trace: number,
      id: number * 10 + 1,
      parent: number * 10,
      name: 'step',
      start: start + 3,
      end: start + 7,
    },
  ]
}
