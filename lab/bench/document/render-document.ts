import type { BenchmarkData } from './benchmark-data.ts'
import { peersPart } from './peers-part.ts'
import { sectionPart } from './section-part.ts'
import { targetsPart } from './targets-part.ts'

/** docs/reports/benchmarks.md; what was not measured is left out. */
export function renderDocument(data: BenchmarkData): string {
  return `${[
    INTRODUCTION,
    targetsPart(data),
    HOW,
    data.peers && peersPart(data.peers),
    ...data.sections.map(sectionPart),
  ]
    .filter((part) => part !== undefined)
    .join('\n\n')}\n`
}

const INTRODUCTION = `# Benchmarks

<!-- Written by npm run bench:document from benchmarks/*.json; edit lab/bench/document instead. -->

How fast Causeway is, what it takes, and how that compares with the programs beside it. Every figure comes from a file in
[benchmarks/](benchmarks) that has the value of every round.`

const HOW = `## How to repeat it

\`\`\`sh
npm run bench                  # every section, about an hour, most of it anchor's; -- --only <section> for one
npm run bench:peers            # beside the Collector and Jaeger, about 12 minutes; needs Go 1.26 once, to build them
npm run bench:document -- lab/bench/results/latest.json lab/bench/results/peers.json   # this file, its data and its plots
\`\`\`

\`-- --help\` lists the rest. A calm machine is needed: other programs' share of the cores is measured with every round, and
is in the data. Databases go to the folder for temporary files unless \`--dir\` names another; where that is in memory, the
first line printed says so, for then a commit costs nothing.

Everything runs as in earnest: Causeway in a process of its own, started by its command with a configuration file, with its
defaults; a generator and a sink in processes of their own that do little. The generator writes ids, times and CPIDs into
ready requests in place. Each controller of a cascade is one connection; a request begins within a trace, as the batches of
span processors do. Medians are over the rounds; min and max are the spread, not an error.`
