import type { CustomReference } from '../model/kubernetes/custom-reference.ts'
import type { NamedSettings, RelationSettings } from '../model/kubernetes/relation-settings.ts'
import type { Part } from './part-of-write.ts'
import type { Relation } from './relations.ts'

export interface ParsedRelations {
  readonly relations: readonly Relation[]
  /** What has to be read of objects for them. */
  readonly references: readonly CustomReference[]
  /** What is wrong with which of the settings, counted from 0, and what to write instead; those are left out. */
  readonly problems: readonly { readonly at: number; readonly problem: string }[]
}

const PARTS: readonly Part[] = ['creation', 'authored', 'status', 'deletion']
const PLACE = /^(?:\.[\w-]+(?:\[\*\])?)+$/
const PLURAL = /^[a-z][a-z0-9-]*$/

/** Relations beside those of the table, and what facts about objects must keep for them. */
export function parseRelations(settings: readonly RelationSettings[]): ParsedRelations {
  const relations: Relation[] = []
  const references: CustomReference[] = []
  const problems: { at: number; problem: string }[] = []
  for (const [at, one] of settings.entries()) {
    const problem = problemOf(one)
    if (problem !== undefined) {
      problems.push({ at, problem })
      continue
    }
    const reference = one.from === 'owner' ? undefined : referenceOf(one.resource, one.from)
    if (reference !== undefined) references.push(reference)
    relations.push({
      write: one.resource,
      parts: PARTS.filter((part) => (one.on ?? ['creation', 'authored']).includes(part)),
      ...(one.by !== undefined && { by: one.by }),
      reads: reference === undefined ? { kind: 'owner' } : { kind: 'named', field: reference.field },
    })
  }
  return { relations, references, problems }
}

function problemOf({ resource, from, on = [] }: RelationSettings): string | undefined {
  if (!PLURAL.test(resource)) return `resource is "${resource}"; write the plural, such as widgets`
  const unknown = on.find((part) => !PARTS.some((known) => known === part))
  if (unknown !== undefined) return `on has "${unknown}"; write one of ${PARTS.join(', ')}`
  if (from === 'owner') return undefined
  const places = [from.label, from.annotation, from.field].filter(
    (place) => place !== undefined && place !== '',
  )
  if (places.length !== 1) return 'from needs exactly one of label, annotation and field, or is owner'
  if (!PLURAL.test(from.of)) return `of is "${from.of}"; write the plural of what is named, such as shops`
  const bad = [from.field, from.namespace].find((place) => place !== undefined && !PLACE.test(place))
  return bad === undefined ? undefined : `"${bad}" is no place in an object; write it like .spec.shop.name`
}

function referenceOf(resource: string, from: NamedSettings): CustomReference {
  const { label, annotation, field = '', of, namespace } = from
  const [place, path] =
    label !== undefined
      ? [`label ${label}`, ['metadata', 'labels', label]]
      : annotation !== undefined
        ? [`annotation ${annotation}`, ['metadata', 'annotations', annotation]]
        : [`field ${field}`, keysOf(field)]
  return {
    ...{ resource, field: `${place} of ${of}`, path, of },
    ...(namespace !== undefined && { namespacePath: keysOf(namespace) }),
  }
}

function keysOf(place: string): string[] {
  return place.slice(1).replaceAll('[*]', '.*').split('.')
}
