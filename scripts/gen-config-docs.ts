import { writeFileSync } from 'node:fs'
import type { Schema } from '../src/config/schema/schema.ts'
import { COMPONENTS } from '../src/app/components.ts'
import type { ComponentDeclaration } from '../src/config/component-type.ts'
import { pipeline, service } from '../src/config/service/service.ts'
import { INTRODUCTION, PIPELINES } from './config-docs-text.ts'

type Row = [key: string, type: string, written: string, meaning: string]

interface Listing {
  rows: Row[]
  refused: { key: string; advice: string }[]
}

/** The text of docs/config.md. */
export function renderConfigDocs(): string {
  return [
    INTRODUCTION,
    ...renderTable('receivers', COMPONENTS.receivers),
    ...renderTable('connectors', COMPONENTS.connectors),
    ...renderTable('exporters', COMPONENTS.exporters),
    ...renderTable('extensions', COMPONENTS.extensions),
    '## service\n',
    renderSchema(service),
    '### A pipeline\n',
    renderSchema(pipeline),
    PIPELINES,
  ].join('\n')
}

function renderTable(section: string, types: readonly ComponentDeclaration[]): string[] {
  const parts = types.flatMap(({ name, aliases, schema }) => {
    const older = aliases.map((alias) => `\`${alias}\``).join(', ')
    const note = aliases.length === 0 ? [] : [`Also known by its older name ${older}.\n`]
    return [`### ${section}.${name}\n`, ...note, renderSchema(schema)]
  })
  return [`## ${section}\n`, ...parts]
}

function renderSchema(schema: Schema<unknown>): string {
  const doc = schema.doc
  if (doc.kind !== 'section') throw new Error('only sections have a table of keys')
  const { rows, refused } = listKeys(doc.shape, '')
  const byAdvice = Map.groupBy(refused, ({ advice }) => advice)
  const lines = [...byAdvice].map(
    ([advice, keys]) => `- ${keys.map(({ key }) => `\`${key}\``).join(', ')}: ${advice}.`,
  )
  const table = alignTable([['key', 'type', 'default', 'meaning'], ...rows])
  return [
    doc.meaning,
    ...(rows.length === 0 ? [] : [table]),
    ...(lines.length === 0 ? [] : ['Refused, with what to do instead:', lines.join('\n')]),
  ]
    .map((part) => `${part}\n`)
    .join('\n')
}

function listKeys(shape: Record<string, Schema<unknown>>, prefix: string): Listing {
  const listing: Listing = { rows: [], refused: [] }
  for (const [key, schema] of Object.entries(shape)) {
    const path = `${prefix}${key}`
    const doc = schema.doc
    if (doc.kind === 'refused') {
      listing.refused.push({ key: path, advice: doc.advice })
    } else if (doc.kind === 'field') {
      const written = doc.default === undefined ? (doc.required ? 'required' : '') : `\`${doc.default}\``
      listing.rows.push([`\`${path}\``, doc.type, written, doc.meaning])
    } else {
      const inner = doc.kind === 'section' ? doc.shape : innerShape(doc.item)
      const nested = listKeys(inner, doc.kind === 'section' ? `${path}.` : `${path}[].`)
      const type = doc.kind === 'section' ? 'section' : 'list of sections'
      const written = doc.kind === 'section' ? (doc.absent === 'off' ? 'off' : '') : `\`${doc.default}\``
      listing.rows.push([`\`${path}\``, type, written, doc.meaning], ...nested.rows)
      listing.refused.push(...nested.refused)
    }
  }
  return listing
}

function innerShape(item: Schema<unknown>): Record<string, Schema<unknown>> {
  const doc = item.doc
  return doc.kind === 'section' ? doc.shape : {}
}

function alignTable(rows: readonly (readonly string[])[]): string {
  const widths = [0, 1, 2, 3].map((column) => Math.max(3, ...rows.map((row) => row[column]!.length)))
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at]!)).join(' | ')} |`
  const [head, ...body] = rows.map(line)
  return [head, line(widths.map((width) => '-'.repeat(width))), ...body].join('\n')
}

if (import.meta.main) {
  writeFileSync(new URL('../docs/config.md', import.meta.url), renderConfigDocs())
}
