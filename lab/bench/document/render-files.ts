import { join } from 'node:path'
import { formatted } from '../../charts/formatted.ts'
import type { BenchmarkData } from './benchmark-data.ts'
import { curvePlot } from './curve-plot.ts'
import { peersPlots } from './peers-plots.ts'
import { renderDocument } from './render-document.ts'
import { renderScaling, SCALED_BY } from './scaling-document.ts'
import { curveFile } from './section-part.ts'

/** The document and its plots, by path: a function of the data alone. */
export async function renderFiles(reports: string, data: BenchmarkData): Promise<Map<string, string>> {
  const files = new Map<string, string>()
  const plot = (file: string, svg: string) => files.set(join(reports, 'benchmarks', file), svg)
  if (data.peers !== undefined) for (const { file, svg } of peersPlots(data.peers.peers)) plot(file, svg)
  for (const { section } of data.sections)
    for (const [at, curve] of (section.curves ?? []).entries())
      plot(curveFile(section.name, at), curvePlot(curve))
  const document = join(reports, 'benchmarks.md')
  files.set(document, await formatted(document, renderDocument(data)))
  const scaling = join(reports, '..', 'scaling.md')
  const measured = new Set(data.sections.map(({ section }) => section.name))
  if (SCALED_BY.every((name) => measured.has(name)))
    files.set(scaling, await formatted(scaling, renderScaling(data)))
  return files
}
