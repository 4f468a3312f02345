import { cpid } from '../../support/otlp-requests.ts'
import { TestWriter } from '../../support/test-writer.ts'

export const WEB = 'apps/v1/deployments/default/web'
export const REPLICASET = 'apps/v1/replicasets/default/web-1'

/** One change: kubectl scales web, a controller writes a ReplicaSet, another observes it. Then the same, slower. */
export async function webCascades(path?: string): Promise<TestWriter> {
  const writer = await TestWriter.open({}, path)
  writer.clock.advance(1000)
  for (const [root, merge, slow] of [
    [1, 2, 1],
    [11, 12, 3],
  ] as const) {
    const at = (ms: number): number => root * 1000 + ms * slow
    writer.mergelogs(
      'kubectl',
      [{ new: cpid(root), time: at(0), object: `${WEB}?uid=u1&rv=${root}`, reason: 'scale' }],
      'kind',
    )
    writer.mergelogs(
      'deployment-controller',
      [{ new: cpid(merge), sources: [cpid(root)], time: at(3) }],
      'kind',
    )
    writer.spans(
      'deployment-controller',
      [
        {
          trace: root,
          id: root * 10 + 1,
          cpid: cpid(root),
          name: 'reconcile deployment',
          start: at(5),
          end: at(25),
          attributes: { 'cpid.observed': [`${WEB}?uid=u1&rv=${root}`] },
        },
        {
          trace: root,
          id: root * 10 + 2,
          parent: root * 10 + 1,
          cpid: cpid(root),
          name: 'update replicaset',
          start: at(10),
          end: at(18),
          attributes: { 'cpid.wrote': [`${REPLICASET}?uid=u2&rv=${root * 100}`], note: 'ünïcode' },
        },
      ],
      'kind',
    )
    writer.spans(
      'replicaset-controller',
      [
        {
          trace: root + 1,
          id: root * 10 + 3,
          cpid: cpid(root),
          name: 'reconcile replicaset',
          start: at(30),
          end: at(60),
          attributes: { 'cpid.observed': [`${REPLICASET}?uid=u2&rv=${root * 100}`] },
        },
      ],
      'kind',
    )
    writer.pass(300_001)
  }
  return writer
}
