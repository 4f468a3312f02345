import { parseComponentId } from './component-id.ts'
import type { ComponentDeclaration } from '../component-type.ts'
import { typeNamed, type ComponentSection } from '../declarations.ts'
import type { Findings } from '../findings.ts'
import { InvalidValue } from '../schema/field.ts'
import { describeNode, isBlank, isMap, UNRESOLVED, valueOf, type RawNode } from '../tree/raw-node.ts'
import { describeUnknownType } from './unknown-type.ts'

/** One component without mistakes. */
export interface Built<Type> {
  readonly id: string
  readonly type: Type
  /** What its type made of what is written. */
  readonly settings: unknown
}

/** One section of components. */
export interface Components<Type> {
  /** The type of every component named, by id, also of those with mistakes in them. */
  readonly typeById: ReadonlyMap<string, string>
  /** Those without mistakes. */
  readonly built: ReadonlyMap<string, Built<Type>>
  /** Something unreadable stands where the section should be, so nothing can be said of what is missing. */
  readonly isUnreadable: boolean
}

/** Reads a section; `instead` says what to write in place of types that there are not. */
export function readComponents<Type extends ComponentDeclaration>(
  section: ComponentSection,
  node: RawNode | undefined,
  { types, instead }: { types: readonly Type[]; instead: Readonly<Record<string, string>> },
  findings: Findings,
): Components<Type> {
  const typeById = new Map<string, string>()
  const built = new Map<string, Built<Type>>()
  const map = isBlank(node) ? {} : valueOf(node)
  if (!isMap(map)) {
    if (map !== UNRESOLVED)
      findings.mistake(section, `must be a map from ids to settings, got ${describeNode(map)}`)
    return { typeById, built, isUnreadable: true }
  }
  for (const [id, written] of Object.entries(map)) {
    const parsed = parseComponentId(id)
    if (parsed instanceof InvalidValue) {
      findings.mistake(`${section}::${id}`, parsed.reason)
      continue
    }
    const type = typeNamed(types, parsed.type)
    typeById.set(id, type?.name ?? parsed.type)
    if (type === undefined) {
      const known = types.map(({ name }) => name)
      findings.mistake(`${section}::${id}`, describeUnknownType(section, id, parsed.type, { known, instead }))
      continue
    }
    const settings = type.read(written, [section, id], findings)
    if (settings !== undefined) built.set(id, { id, type, settings })
  }
  return { typeById, built, isUnreadable: false }
}
