import { stringify } from 'yaml'
import { type ComponentDeclaration, type Declarations, typeNamed } from './component-type.ts'
import type { Schema, SchemaDoc } from './schema.ts'
import { pipeline, service } from './service-section.ts'
import {
  childOf,
  isBlank,
  isMap,
  mapOf,
  type RawMap,
  type RawNode,
  readYaml,
  textOf,
  UNRESOLVED,
  valueOf,
  withoutSecrets,
} from './yaml-tree.ts'

/** The configuration as YAML with all defaults and without secrets. */
export function printConfig(raw: RawMap, declarations: Declarations): string {
  return stringify(effectiveTree(raw, declarations), { lineWidth: 0, aliasDuplicateObjects: false })
}

export type PlainNode = null | boolean | number | string | PlainNode[] | { [key: string]: PlainNode }

const REDACTED = '[REDACTED]'
const SECTIONS = ['receivers', 'processors', 'exporters', 'connectors', 'extensions'] as const

/** The configuration as a tree with all defaults and without secrets. */
export function effectiveTree(tree: RawMap, declarations: Declarations): { [key: string]: PlainNode } {
  const components = SECTIONS.filter((section) => !isBlank(childOf(tree, section))).map((section) => [
    section,
    mapEntries(childOf(tree, section), (node, id) => fillComponent(node, id, declarations[section])),
  ])
  const filled = fill(service, tree['service'])
  const pipelines = mapEntries(mapOf(tree['service'])['pipelines'], (node) => fill(pipeline, node) ?? null)
  return Object.fromEntries([...components, ['service', { ...(filled as object), pipelines }]]) as {
    [key: string]: PlainNode
  }
}

function fillComponent(node: RawNode, id: string, types: readonly ComponentDeclaration[]): PlainNode {
  const type = typeNamed(types, id.split('/', 1).join())
  return type === undefined ? plain(node) : (fill(type.schema, node) ?? null)
}

function fill(schema: Schema<unknown>, node: RawNode | undefined): PlainNode | undefined {
  const doc = schema.doc
  switch (doc.kind) {
    case 'field':
      return fillField(doc, node)
    case 'refused':
      return undefined
    case 'section':
      return fillSection(doc, node)
    case 'sections':
      return fillList(doc, node)
  }
}

function fillField(doc: SchemaDoc & { kind: 'field' }, node: RawNode | undefined): PlainNode | undefined {
  if (isBlank(node)) return doc.default === undefined ? undefined : plain(readDefault(doc.default))
  const written = node as RawNode
  const text = doc.textual ? textOf(written) : undefined
  const value = text === undefined ? plain(written) : withoutSecrets(text)
  if (!doc.secret) return value
  return isMap(valueOf(written)) ? mapEntries(valueOf(written), () => REDACTED) : REDACTED
}

function fillSection(doc: SchemaDoc & { kind: 'section' }, node: RawNode | undefined): PlainNode | undefined {
  if (isBlank(node) && (node === undefined ? doc.absent : doc.bare) === 'off') return undefined
  if (!isBlank(node) && !isMap(valueOf(node))) return plain(node)
  const written = mapOf(node)
  const filled = Object.entries(doc.shape).map(([key, schema]) => [key, fill(schema, childOf(written, key))])
  return Object.fromEntries(filled.filter(([, value]) => value !== undefined)) as PlainNode
}

function fillList(doc: SchemaDoc & { kind: 'sections' }, node: RawNode | undefined): PlainNode {
  const items = valueOf(isBlank(node) ? readDefault(doc.default) : node)
  return Array.isArray(items) ? items.map((item) => fill(doc.item, item) ?? null) : plain(items)
}

function readDefault(written: string): RawNode {
  const reading = readYaml(written)
  return reading.kind === 'read' ? reading.node : null
}

function plain(node: RawNode | undefined): PlainNode {
  const value = valueOf(node)
  if (value === undefined || value === UNRESOLVED) return null
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value === 'string') return withoutSecrets(value)
  return isMap(value) ? mapEntries(value, plain) : value
}

function mapEntries(node: RawNode | undefined, change: (node: RawNode, key: string) => PlainNode) {
  return Object.fromEntries(Object.entries(mapOf(node)).map(([key, child]) => [key, change(child, key)]))
}
