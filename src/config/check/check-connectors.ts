import type { SentSignal, Signal } from '../../model/ingest.ts'
import type { Findings } from '../findings.ts'
import type { Pipeline } from './read-pipelines.ts'
import type { Sections } from './read-sections.ts'

/** There is one merge graph, everything that comes in goes through it, and nothing goes round in a circle. */
export function checkConnectors(sections: Sections, findings: Findings): void {
  const { connectors, receivers, exporters, service, declarations } = sections
  const [{ name }] = declarations.connectors
  if (connectors.isUnreadable) return
  for (const id of connectors.typeById.keys()) {
    if (receivers.typeById.has(id)) findings.mistake(`connectors::${id}`, describeAmbiguous('receiver', id))
    if (exporters.typeById.has(id)) findings.mistake(`connectors::${id}`, describeAmbiguous('exporter', id))
  }
  const cpids = [...connectors.typeById].filter(([, type]) => type === name).map(([id]) => id)
  const [cpid, ...others] = cpids
  if (connectors.typeById.size === 0) {
    findings.mistake('connectors', `must have the ${name} connector; write connectors: { ${name}: {} }`)
  } else if (others.length > 0) {
    findings.mistake('connectors', `must have one ${name} connector, got ${cpids.join(', ')}; keep one`)
  }
  for (const pipeline of service.pipelines) checkFlow(pipeline, sections, findings)
  if (cpid !== undefined && others.length === 0) checkUse(cpid, sections, findings)
}

function checkFlow(pipeline: Pipeline, sections: Sections, findings: Findings): void {
  const { receivers, connectors } = sections
  const { signal } = pipeline
  const outer = pipeline.receivers.find((id) => receivers.typeById.has(id))
  const inner = pipeline.receivers.find((id) => connectors.typeById.has(id))
  const back = pipeline.exporters.find((id) => connectors.typeById.has(id))
  if (inner !== undefined && back !== undefined) {
    const [from, to] = [inner, back].map((id) => `connector "${id}" (${signal} to ${signal})`)
    findings.mistake(
      pipeline.path,
      `cycle detected: ${from} -> ${to}; a pipeline has the connector either as receiver or as exporter`,
    )
  }
  if (outer === undefined) return
  for (const id of straightTo(pipeline, sections)) {
    findings.mistake(
      pipeline.path,
      `sends from receiver "${outer}" straight to exporter "${id}", past the merge graph; write exporters: [cpid] here ` +
        `and a pipeline ${signal}/out: { receivers: [cpid], exporters: [${id}] }`,
    )
  }
}

function checkUse(cpid: string, sections: Sections, findings: Findings): void {
  const { service, declarations } = sections
  const [{ pairs }] = declarations.connectors
  const isToBeRewritten = service.pipelines.some(
    (pipeline) => pipeline.isFaulty || straightTo(pipeline, sections).length > 0,
  )
  if (service.isUnreadable || isToBeRewritten) return
  const taken = signalsOf(service.pipelines.filter(({ exporters }) => exporters.includes(cpid)))
  const given = signalsOf(service.pipelines.filter(({ receivers }) => receivers.includes(cpid)))
  const unfed = given.filter((to) => !pairs.some((pair) => pair.to === to && taken.includes(pair.from)))
  if (unfed.length > 0) {
    findings.mistake(
      `connectors::${cpid}`,
      `connector "${cpid}" used as receiver in [${unfed.join(' ')}] pipeline but not used in any supported ` +
        `exporter pipeline; write a pipeline ${unfed.map(feedOf).join()}/in: { receivers: [otlp], exporters: [${cpid}] }`,
    )
  } else if (taken.length === 0) {
    findings.mistake(
      `connectors::${cpid}`,
      `connector "${cpid}" is not used as exporter in any pipeline, so nothing would come in; ` +
        `write traces/in: { receivers: [otlp], exporters: [${cpid}] }`,
    )
  }
}

/** What must come in for the connector to make a signal. */
const feedOf = (signal: SentSignal): Signal => (signal === 'metrics' ? 'traces' : signal)

/** The exporters that this pipeline feeds past the merge graph. */
function straightTo(pipeline: Pipeline, { receivers, exporters, connectors }: Sections): string[] {
  if (!pipeline.receivers.some((id) => receivers.typeById.has(id))) return []
  const isExporter = (id: string) => exporters.typeById.has(id) && !connectors.typeById.has(id)
  return [...new Set(pipeline.exporters.filter(isExporter))]
}

function signalsOf(pipelines: readonly Pipeline[]): SentSignal[] {
  return [...new Set(pipelines.map(({ signal }) => signal))]
}

function describeAmbiguous(kind: string, id: string): string {
  return (
    `ambiguous ID: Found both "${id}" ${kind} and "${id}" connector. Change one of the components' IDs to ` +
    `eliminate ambiguity (e.g. rename "${id}" connector to "${id}/connector")`
  )
}
