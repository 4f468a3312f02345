import { COMPONENTS } from '../src/app/components.ts'
import type { ComponentDeclaration } from '../src/config/component-type.ts'
import type { Schema } from '../src/config/schema.ts'
import { pipeline, service } from '../src/config/service-section.ts'
import { anchorOf } from './anchor-of.ts'
import { markdownTable } from './markdown-table.ts'

export const CONFIG_DOCS = new URL('../docs/reference/configuration.md', import.meta.url)

const INTRODUCTION = `<!-- Written by npm run gen from the schema that checks a configuration; change it there. -->

# Configuration keys

For whoever writes a configuration: every key, with its type, its default and its meaning. [config.md](../config.md) says how a
configuration is made up and how durations, sizes and addresses are written. A block that several components have is described
once, under [Shared blocks](#shared-blocks).
`

/** A component, or the service, with the headings that its keys are described under. */
interface Part {
  section: string
  heading: string
  note?: string
  schema: Schema<unknown>
}

interface Listing {
  rows: string[][]
  refused: { key: string; advice: string }[]
  /** Keys that mean what they mean in an earlier part, by its heading. */
  asIn: { key: string; heading: string }[]
}

/** The text of docs/reference/configuration.md. */
export function renderConfigDocs(): string {
  return new ConfigDocs().render()
}

class ConfigDocs {
  readonly #parts: readonly Part[] = [
    ...partsOf('receivers', COMPONENTS.receivers),
    ...partsOf('connectors', COMPONENTS.connectors),
    ...partsOf('exporters', COMPONENTS.exporters),
    ...partsOf('extensions', COMPONENTS.extensions),
    { section: 'service', heading: 'The service', schema: service },
    { section: 'service', heading: 'A pipeline', schema: pipeline },
  ]
  readonly #blocks = sharedBlocks(this.#parts)
  readonly #described = new Map<Schema<unknown>, { key: string; heading: string }>()

  render(): string {
    const bySection = Map.groupBy(this.#parts, ({ section }) => section)
    const sections = [...bySection].flatMap(([section, parts]) => [
      `## ${section}\n`,
      ...parts.flatMap((part) => [`### ${part.heading}\n`, part.note ?? '', this.#describe(part)]),
    ])
    const blocks = [...this.#blocks].flatMap(([schema, heading]) => [
      `### ${heading}\n`,
      this.#describe({ heading, schema }),
    ])
    const lines = [INTRODUCTION, ...sections, '## Shared blocks\n', ...blocks]
    return lines.filter((line) => line !== '').join('\n')
  }

  #describe({ heading, schema }: Pick<Part, 'heading' | 'schema'>): string {
    const { doc } = schema
    if (doc.kind !== 'section') throw new Error('only sections have a table of keys')
    const listing: Listing = { rows: [], refused: [], asIn: [] }
    this.#list(doc.shape, '', heading, listing)
    const { rows, refused, asIn } = listing
    const same = [...Map.groupBy(asIn, (one) => one.heading)].map(
      ([other, keys]) => `As in [${other}](#${anchorOf(other)}): ${keysOf(keys)}.`,
    )
    const advice = [...Map.groupBy(refused, (one) => one.advice)].map(
      ([text, keys]) => `- ${keysOf(keys)}: ${text}.`,
    )
    return [
      doc.meaning,
      ...(rows.length === 0 ? [] : [markdownTable(['key', 'type', 'default', 'meaning'], rows)]),
      ...(same.length === 0 ? [] : [same.join(' ')]),
      ...(advice.length === 0 ? [] : ['Refused, with what to do instead:', advice.join('\n')]),
    ]
      .map((part) => `${part}\n`)
      .join('\n')
  }

  #list(shape: Record<string, Schema<unknown>>, prefix: string, heading: string, listing: Listing): void {
    for (const [key, schema] of Object.entries(shape)) {
      const path = `${prefix}${key}`
      const { doc } = schema
      if (doc.kind === 'refused') {
        listing.refused.push({ key: path, advice: doc.advice })
      } else if (doc.kind === 'field') {
        this.#listField(schema, doc, path, heading, listing)
      } else {
        const isOne = doc.kind === 'section'
        const written = isOne ? (doc.absent === 'off' ? 'off' : '') : `\`${doc.default}\``
        const block = this.#blocks.get(schema)
        const meaning = block === undefined ? doc.meaning : `[${block}](#${anchorOf(block)})`
        listing.rows.push([`\`${path}\``, isOne ? 'section' : 'list of sections', written, meaning])
        if (block !== undefined) continue
        this.#list(isOne ? doc.shape : shapeOf(doc.item), isOne ? `${path}.` : `${path}[].`, heading, listing)
      }
    }
  }

  #listField(
    schema: Schema<unknown>,
    doc: Extract<Schema<unknown>['doc'], { kind: 'field' }>,
    path: string,
    heading: string,
    listing: Listing,
  ): void {
    const known = this.#described.get(schema)
    const isKnown = known !== undefined && lastOf(known.key) === lastOf(path)
    if (isKnown && known.heading !== heading) {
      listing.asIn.push({ key: path, heading: known.heading })
      return
    }
    if (!isKnown) this.#described.set(schema, { key: path, heading })
    const written = doc.default === undefined ? (doc.required ? 'required' : '') : `\`${doc.default}\``
    listing.rows.push([`\`${path}\``, doc.type, written, isKnown ? `As \`${known.key}\`.` : doc.meaning])
  }
}

function partsOf(section: string, types: readonly ComponentDeclaration[]): Part[] {
  return types.map(({ name, aliases, schema }) => {
    const older = aliases.map((alias) => `\`${alias}\``).join(', ')
    const note = aliases.length === 0 ? {} : { note: `Also known by its older name ${older}.\n` }
    return { section, heading: `${section}.${name}`, schema, ...note }
  })
}

/** The sections that stand in several places, with the heading of each: its key, and the kinds of components that have it. */
function sharedBlocks(parts: readonly Part[]): Map<Schema<unknown>, string> {
  const places = new Map<Schema<unknown>, { key: string; sections: Set<string>; count: number }>()
  const walk = (shape: Record<string, Schema<unknown>>, section: string): void => {
    for (const [key, schema] of Object.entries(shape)) {
      const { doc } = schema
      if (doc.kind === 'sections') walk(shapeOf(doc.item), section)
      if (doc.kind !== 'section') continue
      const place = places.get(schema) ?? { key, sections: new Set(), count: 0 }
      places.set(schema, { ...place, sections: place.sections.add(section), count: place.count + 1 })
      if (place.count === 0) walk(doc.shape, section)
    }
  }
  for (const { section, schema } of parts) walk(shapeOf(schema), section)
  const shared = [...places].filter(([, { count }]) => count > 1)
  return new Map(
    shared.map(([schema, { key, sections }]) => [schema, `${key} in ${[...sections].join(' and ')}`]),
  )
}

function shapeOf({ doc }: Schema<unknown>): Record<string, Schema<unknown>> {
  return doc.kind === 'section' ? doc.shape : {}
}

function lastOf(key: string): string {
  return key.slice(key.lastIndexOf('.') + 1)
}

function keysOf(keys: readonly { key: string }[]): string {
  return keys.map(({ key }) => `\`${key}\``).join(', ')
}
