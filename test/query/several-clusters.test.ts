import { expect, test } from '@jest/globals'
import { cpid } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'
import { writeLabel } from '../../web/src/text/seen-write.ts'
import { ask, id } from './asking.ts'

interface Cascade {
  timePerService: object[]
  timePerCluster: object[]
  traces: { spans: { name: string; service: string; cluster?: string; synthetic: boolean }[] }[]
}

/** A change on the host, which a controller works for in these clusters, 10 ms longer in each than in the one before. */
async function cascadeOver(...clusters: (string | undefined)[]): Promise<Cascade> {
  using writer = await TestWriter.open()
  writer.clock.advance(1000)
  writer.mergelogs('kubectl', [{ new: cpid(1), time: 0 }], 'host')
  clusters.forEach((cluster, at) => {
    const times = { start: 5, end: 15 + 10 * at }
    const span = { trace: at + 1, id: at + 1, cpid: cpid(1), name: `work ${at}`, ...times }
    writer.spans('reconfigurator', [span], cluster)
  })
  writer.pass(300_001)
  return ask<Cascade>(writer, { kind: 'cascade', root: id(1) })
}

test('a cascade over several clusters says which span is in another one, and what each took there', async () => {
  const { traces, timePerService, timePerCluster } = await cascadeOver('host', 'west', undefined)
  const spans = traces[0]?.spans.filter(({ synthetic }) => !synthetic) ?? []
  expect(spans.map(({ name, cluster }) => [name, cluster]).sort()).toEqual([
    ['work 0', undefined],
    ['work 1', 'west'],
    ['work 2', undefined],
  ])
  expect(spans.map(writeLabel).sort()).toEqual(['work 0', 'work 1 in west', 'work 2'])
  expect(timePerService).toMatchObject([{ service: 'reconfigurator', totalMs: 60, spans: 3 }])
  expect(timePerCluster).toMatchObject([
    { cluster: null, service: 'reconfigurator', totalMs: 30, spans: 1 },
    { cluster: 'west', service: 'reconfigurator', totalMs: 20, spans: 1 },
    { cluster: 'host', service: 'reconfigurator', totalMs: 10, spans: 1 },
  ])
})

test('where all is in one cluster its services are not told of twice', async () => {
  const { traces, timePerCluster } = await cascadeOver('host', 'host')
  expect(timePerCluster).toEqual([])
  for (const span of traces.flatMap(({ spans }) => spans)) expect(span).not.toHaveProperty('cluster')
})
