import { typeNamed, type Declarations } from '../declarations.ts'
import type { Findings } from '../findings.ts'
import { didYouMean } from '../schema/did-you-mean.ts'
import type { Components } from './read-components.ts'
import type { Pipeline } from './read-pipelines.ts'
import type { Sections } from './read-sections.ts'

/** Everything that a pipeline or the service names must be configured, and sections must not be missing. */
export function checkReferences(sections: Sections, findings: Findings): void {
  const { receivers, exporters, connectors, extensions, service } = sections
  if (isMissing(receivers)) {
    findings.mistake(
      'receivers',
      'no receiver configuration specified in config; write receivers: { otlp: { protocols: { grpc: {} } } }',
    )
  }
  const sendsOn = service.pipelines.some((pipeline) =>
    pipeline.exporters.some((id) => !connectors.typeById.has(id)),
  )
  if (isMissing(exporters) && sendsOn) {
    findings.mistake(
      'exporters',
      'no exporter configuration specified in config; write for example exporters: { otlp_grpc: { endpoint: localhost:14317 } }',
    )
  }
  if (service.isMissing) {
    findings.mistake(
      'service::pipelines',
      'service must have at least one pipeline; write traces/in and logs/in',
    )
  }
  for (const pipeline of service.pipelines) checkPipeline(pipeline, sections, findings)
  for (const id of service.extensions) {
    if (extensions.typeById.has(id) || extensions.isUnreadable) continue
    findings.mistake('service::extensions', notConfigured('extension', id, [extensions]))
  }
}

function checkPipeline(pipeline: Pipeline, sections: Sections, findings: Findings): void {
  const { receivers, processors, exporters, connectors } = sections
  const { path } = pipeline
  if (pipeline.receivers.length === 0 && !pipeline.isFaulty) {
    findings.mistake(path, 'must have at least one receiver; write receivers: [otlp] or receivers: [cpid]')
  }
  if (pipeline.exporters.length === 0 && !pipeline.isFaulty) {
    findings.mistake(path, 'must have at least one exporter; write exporters: [cpid], or where to send')
  }
  for (const id of unconfigured(pipeline.receivers, receivers, sections)) {
    findings.mistake(path, notConfigured('receiver', id, [receivers, connectors]))
  }
  for (const id of new Set(pipeline.processors)) {
    if (pipeline.processors.indexOf(id) !== pipeline.processors.lastIndexOf(id)) {
      findings.mistake(
        path,
        `references processor "${id}" multiple times; remove it, Causeway has no processors`,
      )
    }
    if (processors.typeById.has(id) || processors.isUnreadable) continue
    findings.mistake(
      path,
      `references processor "${id}" which is not configured; remove it, Causeway has none`,
    )
  }
  for (const id of unconfigured(pipeline.exporters, exporters, sections)) {
    findings.mistake(path, notConfigured('exporter', id, [exporters, connectors]))
  }
}

/** Of a section that is missing altogether that alone is said, not every reference into it. */
function unconfigured(
  ids: readonly string[],
  own: Components<unknown>,
  { connectors, declarations }: { connectors: Components<unknown>; declarations: Declarations },
): string[] {
  if (isMissing(own) || own.isUnreadable || connectors.isUnreadable) return []
  const isKnown = (id: string) => own.typeById.has(id) || connectors.typeById.has(id)
  const isMissingConnector = (id: string) =>
    isMissing(connectors) && typeNamed(declarations.connectors, id.split('/', 1).join()) !== undefined
  return [...new Set(ids)].filter((id) => !isKnown(id) && !isMissingConnector(id))
}

function notConfigured(kind: string, id: string, sections: readonly Components<unknown>[]): string {
  const known = sections.flatMap(({ typeById }) => [...typeById.keys()])
  const hint = didYouMean([id], known)
  const advice = hint === '' ? `; configure it under ${kind}s or remove it here` : hint
  return `references ${kind} "${id}" which is not configured${advice}`
}

function isMissing({ typeById, isUnreadable }: Components<unknown>): boolean {
  return typeById.size === 0 && !isUnreadable
}
