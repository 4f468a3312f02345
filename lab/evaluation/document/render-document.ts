import type { EvaluationData } from '../evaluation-data.ts'
import { durationsSection } from './durations-section.ts'
import { inferenceSection } from './inference-section.ts'
import { informersSection } from './informers-section.ts'
import { mergesSection } from './merges-section.ts'
import { operatorSection } from './operator-section.ts'
import { overheadSection } from './overhead-section.ts'
import { peersSection } from './peers-section.ts'
import { replacementSection } from './replacement-section.ts'
import { summaryTable } from './summary.ts'
import { table } from '../../charts/markdown.ts'
import { traceabilitySection } from './traceability-section.ts'

/** The document that `npm run evaluate` writes; parts without data are left out. */
export function renderDocument(data: EvaluationData): string {
  return `${[
    INTRODUCTION,
    table(summaryTable(data)),
    data.merges && mergesSection(data.merges),
    data.overhead && overheadSection(data.overhead),
    data.operator && operatorSection(data.operator),
    data.informers && informersSection(data.informers),
    data.replacement && replacementSection(data.replacement),
    data.traceability && traceabilitySection(data.traceability),
    data.durations && durationsSection(data.durations),
    data.inference && inferenceSection(data.inference),
    peersSection(),
  ]
    .filter((part) => part !== undefined)
    .join('\n\n')}\n`
}

const INTRODUCTION = `# Evaluation

<!-- Written by npm run evaluate from evaluation/*.json; edit lab/evaluation/document instead. -->

What Ehira, Kotani and Okabe measured in sections 5 and 6 of _Distributed Tracing for Cascading Changes of Objects in the
Kubernetes Control Plane_, measured again with Causeway, beside their figures. They ran Kubernetes with four instrumented
components in kind; here the control plane is that of \`packages/control-plane\`: an API server in memory and level-triggered
controllers that use \`causeway-instrumentation\` as anyone would. It is a model. Nothing in it is tuned to the paper's
figures; where it differs, the difference is named. What an operator costs is measured on a real cluster as well.

\`npm run evaluate\` measures everything again and writes this file, its data and its plots (six minutes on a calm machine, ten on a busy
one);
\`-- --only durations|inference|merges|overhead|replacement|traceability\` measures one part, \`-- --quick\` shows that it works.
\`-- --only operator\` has to be asked for: it builds a Kubernetes, and takes a quarter of an hour. The data, with
every single run, is in [evaluation/](evaluation).`
