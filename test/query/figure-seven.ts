import { cpid, type MergelogSketch } from '../support/otlp-requests.ts'
import { TestWriter, type TestSettings } from '../support/test-writer.ts'

/** The paper's Figure 7: the sources of each CPID. */
export const FIGURE_7: Record<number, number[]> = {
  1: [],
  2: [],
  3: [1, 2],
  4: [],
  5: [3, 4],
  6: [],
  7: [2, 4, 6],
  8: [],
}

/** The paper's Table 2: the related CPIDs of each. */
export const TABLE_2: Record<number, number[]> = {
  1: [1, 3, 5],
  2: [2, 3, 5, 7],
  3: [3, 5],
  4: [4, 5, 7],
  5: [5],
  6: [6, 7],
  7: [7],
  8: [8],
}

/** Figure 7 with a span and a mergelog for each CPID; the merge of CPID n happens n milliseconds after the start. */
export async function figureSeven(path?: string, settings: TestSettings = {}): Promise<TestWriter> {
  const writer = await TestWriter.open(settings, path)
  writer.clock.advance(1000)
  const mergelogs = Object.entries(FIGURE_7).map(([id, sources]): MergelogSketch => ({
    new: cpid(Number(id)),
    sources: sources.map(cpid),
    time: Number(id),
    ...(sources.length === 0 && { object: `apps/v1/deployments/default/web-${id}?uid=u${id}&rv=1` }),
  }))
  writer.mergelogs('paper', mergelogs, 'kind')
  for (const id of Object.keys(FIGURE_7).map(Number)) {
    writer.spans(id % 2 === 0 ? 'even' : 'odd', [
      { trace: id, id, cpid: cpid(id), name: `work of ${id}`, start: id, end: id + 10 },
    ])
  }
  writer.link()
  return writer
}
