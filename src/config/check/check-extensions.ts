import type { Findings } from '../findings.ts'
import type { Sections } from './read-sections.ts'

/** Of each type of extension at most one is on, but for those of which there may be several. */
export function checkExtensions({ extensions, service, declarations }: Sections, findings: Findings): void {
  const idsByType = Map.groupBy(new Set(service.extensions), (id) => extensions.typeById.get(id))
  for (const { name, isPlural } of declarations.extensions) {
    const ids = idsByType.get(name) ?? []
    if (isPlural === true || ids.length < 2) continue
    findings.mistake('service::extensions', `must have one ${name} at most, got ${ids.join(', ')}; keep one`)
  }
}
