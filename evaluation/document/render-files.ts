import { join } from 'node:path'
import type { EvaluationData } from '../evaluation-data.ts'
import { mergesPlot, percentPlot } from '../plot/merges-plot.ts'
import { propagationPlot } from '../plot/propagation-plot.ts'
import { formatted } from './formatted.ts'
import { renderDocument } from './render-document.ts'

/** The document and its plots, by path: a function of the data alone. */
export async function renderFiles(folder: string, data: EvaluationData): Promise<Map<string, string>> {
  const files = new Map<string, string>()
  const plot = (name: string, text: string) => files.set(join(folder, 'evaluation', name), text)
  if (data.merges !== undefined) {
    plot('merges.svg', mergesPlot(data.merges.data))
    plot('merges-percent.svg', percentPlot(data.merges.data))
  }
  if (data.overhead !== undefined) plot('propagation.svg', propagationPlot(data.overhead.data))
  const document = join(folder, 'evaluation.md')
  files.set(document, await formatted(document, renderDocument(data)))
  return files
}
