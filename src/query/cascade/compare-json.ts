import type { CascadeFacts, CausewayQueries } from '../../model/ports/query-port.ts'
import { analyseCascade, type CascadeAnalysis } from './cascade-analysis.ts'
import type { Comparison } from '../answers/cascades.ts'
import { cascadeOutline } from './cascade-json.ts'
import { pairByName } from './pair-by-name.ts'
import { millis } from '../../model/rfc3339.ts'
import { kindTimeJson, serviceTimeJson } from './time-json.ts'

/** Two cascades beside one another: their services and kinds of objects, what got slower first. */
export function* compareJson(queries: CausewayQueries, a: CascadeFacts, b: CascadeFacts): Generator<string> {
  const ofA = yield* analysed(queries, a)
  const ofB = yield* analysed(queries, b)
  const [durationA, durationB] = [a, b].map(({ startNs, lastNs }) => lastNs - startNs) as [bigint, bigint]
  yield JSON.stringify({
    a: cascadeOutline(a),
    b: cascadeOutline(b),
    durationMs: { a: millis(durationA), b: millis(durationB), difference: millis(durationB - durationA) },
    services: pairByName(ofA.services, ofB.services, ({ service }) => service).map((pair) => ({
      service: pair.name,
      a: pair.a === undefined ? null : serviceTimeJson(pair.a),
      b: pair.b === undefined ? null : serviceTimeJson(pair.b),
      differenceMs: millis(pair.differenceNs),
    })),
    kinds: pairByName(ofA.kinds, ofB.kinds, ({ kind }) => kind).map((pair) => ({
      kind: pair.name,
      a: pair.a === undefined ? null : kindTimeJson(pair.a),
      b: pair.b === undefined ? null : kindTimeJson(pair.b),
      differenceMs: millis(pair.differenceNs),
    })),
  } satisfies Comparison)
}

function* analysed(queries: CausewayQueries, { root }: CascadeFacts): Generator<string, CascadeAnalysis> {
  const analysing = analyseCascade(queries, root)
  for (;;) {
    const found = analysing.next()
    if (found.done === true) return found.value
    yield ''
  }
}
