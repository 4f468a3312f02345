import { typeOf, type TypeTable } from '../components/catalog.ts'
import type { Findings } from '../findings.ts'
import { Refusal } from '../schema/field.ts'
import { describeNode, isBlank, isMap, UNRESOLVED, valueOf, type RawNode } from '../tree/raw-node.ts'
import { parseComponentId } from './component-id.ts'
import { describeUnknownType, type ComponentSection } from './unknown-type.ts'

/** One section of components. */
export interface Components<Built> {
  /** The type of every component named, by id, also of those with mistakes in them. */
  readonly typeById: ReadonlyMap<string, string>
  /** Those without mistakes. */
  readonly built: ReadonlyMap<string, Built>
  /** Something unreadable stands where the section should be, so nothing can be said of what is missing. */
  readonly isUnreadable: boolean
}

export function readComponents<Built>(
  section: ComponentSection,
  node: RawNode | undefined,
  table: TypeTable<Built>,
  findings: Findings,
): Components<Built> {
  const typeById = new Map<string, string>()
  const built = new Map<string, Built>()
  const map = isBlank(node) ? {} : valueOf(node)
  if (!isMap(map)) {
    if (map !== UNRESOLVED)
      findings.mistake(section, `must be a map from ids to settings, got ${describeNode(map)}`)
    return { typeById, built, isUnreadable: true }
  }
  for (const [id, settings] of Object.entries(map)) {
    const parsed = parseComponentId(id)
    if (parsed instanceof Refusal) {
      findings.mistake(`${section}::${id}`, parsed.reason)
      continue
    }
    typeById.set(id, table.aliases.get(parsed.type) ?? parsed.type)
    const type = typeOf(table, parsed.type)
    if (type === undefined) {
      const known = [...table.types.keys()]
      findings.mistake(`${section}::${id}`, describeUnknownType(section, id, parsed.type, known))
      continue
    }
    const component = type.read(id, settings, [section, id], findings)
    if (component !== undefined) built.set(id, component)
  }
  return { typeById, built, isUnreadable: false }
}
