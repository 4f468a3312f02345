import type { Findings } from '../findings.ts'
import type { Sections } from './read-sections.ts'

const SEVERAL = ['basicauth', 'bearertokenauth']

/** Of each type of extension at most one is on, authenticators aside. */
export function checkExtensions({ extensions, service }: Sections, findings: Findings): void {
  const idsByType = Map.groupBy(new Set(service.extensions), (id) => extensions.typeById.get(id))
  for (const [type, ids] of idsByType) {
    if (type === undefined || SEVERAL.includes(type) || ids.length < 2) continue
    findings.mistake('service::extensions', `must have one ${type} at most, got ${ids.join(', ')}; keep one`)
  }
}
