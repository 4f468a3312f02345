import { mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { optionsGiven, reasonOf } from '../harness/command-options.ts'
import { benchAnchor } from './anchor/anchor-section.ts'
import { benchArchive } from './sections/archive-section.ts'
import { benchDashboard } from './sections/dashboard-section.ts'
import { benchExport } from './sections/export-section.ts'
import { spreadOf, type SectionResult } from './measure/figures.ts'
import { benchGrowth } from './growth/growth-section.ts'
import { benchHeld } from './held/held-section.ts'
import { benchIngestAtScale } from './sections/ingest-scale-section.ts'
import { benchFairness } from './sections/fairness-section.ts'
import { benchIngest } from './sections/ingest-section.ts'
import { benchInstrumentation } from './sections/instrumentation-section.ts'
import { benchApiServer } from './kubernetes/api-server-section.ts'
import { benchKubernetes } from './kubernetes/kubernetes-section.ts'
import { describeMachine } from './measure/machine.ts'
import { benchMemory } from './sections/memory-section.ts'
import { readOptions, USAGE, type Options, type SectionName } from './options.ts'
import { benchProfile } from './sections/profile-section.ts'
import { benchQuestions } from './sections/questions-section.ts'
import { benchSoak } from './sections/soak-section.ts'
import { benchSearch } from './sections/search-section.ts'
import { benchRelated } from './sections/related-section.ts'
import { machineText, sectionText } from './measure/report.ts'

const RUN: Record<SectionName, (options: Options, onRound: () => void) => Promise<SectionResult>> = {
  ingest: benchIngest,
  'ingest-at-scale': benchIngestAtScale,
  'ingest-link-export': benchExport,
  profile: benchProfile,
  memory: benchMemory,
  related: benchRelated,
  questions: benchQuestions,
  search: benchSearch,
  dashboard: benchDashboard,
  instrumentation: benchInstrumentation,
  growth: benchGrowth,
  anchor: benchAnchor,
  fairness: benchFairness,
  soak: benchSoak,
  held: benchHeld,
  kubernetes: benchKubernetes,
  'kubernetes-api-server': benchApiServer,
  archive: benchArchive,
}

/** Measures Causeway as it runs in earnest; docs/reports/benchmarks.md says what each figure means. */
async function bench(options: Options): Promise<void> {
  const machine = describeMachine(options.directory)
  console.log(`${machineText(machine)}\n`)
  const sections: SectionResult[] = []
  for (const name of options.sections) {
    process.stderr.write(`${name} `)
    const result = await RUN[name](options, () => process.stderr.write('.'))
    process.stderr.write('\n')
    sections.push(result)
    console.log(`${sectionText(result)}\n`)
  }
  const results = sections.map((section) => ({
    ...section,
    spread: Object.fromEntries(
      Object.keys(section.figures).map((key) => [key, spreadOf(section.rounds, key)]),
    ),
  }))
  mkdirSync(dirname(options.json), { recursive: true })
  writeFileSync(
    options.json,
    `${JSON.stringify({ takenAt: new Date().toISOString(), machine, options, sections: results }, undefined, 2)}\n`,
  )
  console.log(`Every round's figures: ${options.json}`)
}

const options = optionsGiven(USAGE, (args) =>
  readOptions(args, {
    directory: tmpdir(),
    causeway: fileURLToPath(new URL('../../bin/causeway.js', import.meta.url)),
    json: fileURLToPath(new URL('results/latest.json', import.meta.url)),
  }),
)
if (options !== undefined) {
  try {
    await bench(options)
  } catch (error) {
    console.error(`\nThe bench failed: ${reasonOf(error)}`)
    process.exitCode = 1
  }
}
