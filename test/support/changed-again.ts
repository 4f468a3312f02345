import { cpid, type SpanSketch } from './otlp-requests.ts'
import type { TestWriter } from './test-writer.ts'

export const FIRST = cpid(1)
export const SECOND = cpid(2)
export const MERGED = cpid(3)
export const DEPLOYMENT = 'apps/v1/deployments/default/web'
export const REPLICASET = 'apps/v1/replicasets/default/web-1'
export const MINUTE = 60_000

export const observed = (...references: string[]): Record<string, unknown> => ({
  'cpid.observed': references,
})
export const wrote = (...references: string[]): Record<string, unknown> => ({ 'cpid.wrote': references })

/** An operator makes a Deployment, and its controller a ReplicaSet, within 30 ms. */
export function makeIt(writer: TestWriter): void {
  writer.mergelogs('kubectl', [{ new: FIRST, object: DEPLOYMENT, told: { trace: 1, id: 1 } }])
  writer.spans('kubectl', [{ trace: 1, id: 1, cpid: FIRST, attributes: wrote(`${DEPLOYMENT}?rv=10`) }])
  writer.spans('deployment-controller', [
    {
      trace: 2,
      id: 2,
      cpid: FIRST,
      start: 20,
      end: 30,
      attributes: { ...observed(`${DEPLOYMENT}?rv=10`), ...wrote(`${REPLICASET}?rv=11`) },
    },
  ])
  writer.link()
}

/** A minute later the operator changes it, and the controller follows; what was there is merged with the change. */
export function changeIt(writer: TestWriter, more: Partial<SpanSketch> = {}): void {
  writer.mergelogs('kubectl', [{ new: SECOND, object: DEPLOYMENT, time: MINUTE, told: { trace: 3, id: 3 } }])
  writer.mergelogs('kubectl', [
    { new: MERGED, sources: [FIRST, SECOND], time: MINUTE, told: { trace: 3, id: 3 } },
  ])
  writer.spans('kubectl', [
    {
      trace: 3,
      id: 3,
      cpid: MERGED,
      start: MINUTE,
      attributes: { ...observed(`${DEPLOYMENT}?rv=10`), ...wrote(`${DEPLOYMENT}?rv=20`) },
    },
  ])
  writer.spans('deployment-controller', [
    {
      trace: 4,
      id: 4,
      cpid: MERGED,
      start: MINUTE + 20,
      end: MINUTE + 30,
      attributes: observed(`${DEPLOYMENT}?rv=20`, `${REPLICASET}?rv=11`),
      ...more,
    },
  ])
}
