import { cpid, hexSpan, hexTrace } from '../../support/otlp-requests.ts'
import type { TestWriter } from '../../support/test-writer.ts'
import { cascadesForBackends } from './jaeger-exchanges.ts'
import { REPLICASET, WEB } from './web-cascade.ts'

export type Values = Readonly<Record<string, string>>

/** Cascades that have all been sent, of several services, and one that is still open. */
export async function manyCascades(path?: string): Promise<TestWriter> {
  const writer = await cascadesForBackends(path)
  writer.logs('replicaset-controller', [
    { body: 'one', trace: 2, span: 13, cpid: cpid(1), time: 1_100 },
    { body: 'two', trace: 2, span: 13, cpid: cpid(1), time: 1_101 },
  ])
  writer.pass(300_001)
  writer.mergelogs('late', [{ new: cpid(31), time: 40_000 }])
  writer.spans('late', [{ trace: 31, id: 11, cpid: cpid(31), start: 40_001 }])
  const wrote = ['a', 'b'].map((name) => `v1/pods/default/measured-${name}?uid=${name}&rv=1`)
  writer.spans('measured', [{ trace: 900, id: 900, cpid: cpid(1), attributes: { 'cpid.wrote': wrote } }])
  writer.link()
  return writer
}

/** What is asked first; a parameter that may be left out is left out. */
export const FIRST: Values = {
  cpid: cpid(1),
  root: cpid(1),
  other: cpid(11),
  spanId: hexSpan(11),
  ref: 'web',
  q: 'web',
  contains: 'cpid.id=',
}

/** What is asked then, of one parameter at a time. */
export const THEN: Values = {
  cpid: cpid(23),
  root: cpid(11),
  other: cpid(21),
  spanId: hexSpan(12),
  ref: REPLICASET,
  q: cpid(1),
  contains: 'measured-b',
  limit: '1',
  state: 'open',
  cause: 'self',
  object: WEB,
  service: 'odd',
  cluster: 'kind',
  actor: 'odd',
  namespace: 'default',
  from: '2026-01-01T00:00:15Z',
  to: '2026-01-01T00:00:15Z',
  trace: hexTrace(99),
}

/** Where one of these has nothing to tell apart, and what is asked first and then instead. */
const ELSEWHERE: Readonly<Record<string, { first?: Values; then?: Values }>> = {
  '/cpids/{cpid}/cascades': { first: { cpid: cpid(23) }, then: { cpid: cpid(1) } },
  '/objects/versions': { first: { ref: REPLICASET }, then: { ref: WEB } },
  '/find': { then: { namespace: 'elsewhere' } },
  '/cascades/{root}/spans/{spanId}': { then: { root: cpid(31) } },
}

/** What is asked first of this path, and then, of one parameter at a time. */
export function valuesFor(path: string): { first: Values; then: Values } {
  const { first, then } = ELSEWHERE[path] ?? {}
  return { first: { ...FIRST, ...first }, then: { ...THEN, ...then } }
}
