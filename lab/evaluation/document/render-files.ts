import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { EvaluationData } from '../evaluation-data.ts'
import { mergesPlot, percentPlot } from '../plot/merges-plot.ts'
import { propagationPlot } from '../plot/propagation-plot.ts'
import { formatted } from '../../charts/formatted.ts'
import { withOutcome } from './readme-part.ts'
import { renderDocument } from './render-document.ts'

/** The README of the project whose reports are in this folder, as the data would have it. */
export async function renderReadme(
  folder: string,
  data: EvaluationData,
): Promise<{ path: string; text: string }> {
  const path = join(folder, '..', '..', 'README.md')
  return { path, text: await formatted(path, withOutcome(readFileSync(path, 'utf8'), data)) }
}

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
