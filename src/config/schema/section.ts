import { z } from 'zod'
import { describeNode, isBlank, UNRESOLVED, valueOf, type RawNode } from '../tree/raw-node.ts'
import { readYaml } from '../tree/read-yaml.ts'
import { didYouMean } from './did-you-mean.ts'
import { SILENT } from './field.ts'
import { docOf, documented, type Shape } from './schema-doc.ts'

/**
 * A rule between keys of one section: nothing, or what is wrong under which key. It also sees sections with
 * mistakes in them, where a faulty value compares as neither more nor less than anything.
 */
export type Rule<Settings> = (settings: Settings) => { key: string; message: string } | undefined

type Settings<S extends Shape> = z.output<z.ZodObject<S, z.core.$strict>>
type SectionOf<S extends Shape> = z.ZodType<Settings<S>>

/** A section that is always there: left out or bare, it has its defaults. */
export function section<S extends Shape>(
  meaning: string,
  shape: S,
  rules: Rule<Settings<S>>[] = [],
): SectionOf<S> {
  const schema = opened(() => ({})).pipe(strict(shape, rules))
  return documented(schema, { kind: 'section', meaning, shape, absent: 'filled', bare: 'filled' })
}

/** A section that turns something on by being named, even with nothing in it. */
export function switchedSection<S extends Shape>(
  meaning: string,
  shape: S,
  rules: Rule<Settings<S>>[] = [],
): z.ZodType<Settings<S> | undefined> {
  const schema = opened((node) => (node === undefined ? undefined : {})).pipe(strict(shape, rules).optional())
  return documented(schema, { kind: 'section', meaning, shape, absent: 'off', bare: 'filled' })
}

/** A section that has an effect only with something in it. */
export function optionalSection<S extends Shape>(
  meaning: string,
  shape: S,
  rules: Rule<Settings<S>>[] = [],
): z.ZodType<Settings<S> | undefined> {
  const schema = opened(() => undefined).pipe(strict(shape, rules).optional())
  return documented(schema, { kind: 'section', meaning, shape, absent: 'off', bare: 'off' })
}

/** A list of sections; left out or bare it is read from the text of its default. */
export function sections<T>(meaning: string, written: string, item: z.ZodType<T>): z.ZodType<T[]> {
  const fallback = readYaml(written)
  if (fallback.kind === 'faulty') throw new Error(`the default ${written} is no YAML`)
  const schema = opened(() => fallback.node as object).pipe(
    z.array(item, { error: (issue) => `must be a list, got ${describeNode(issue.input as RawNode)}` }),
  )
  return documented(schema, { kind: 'sections', meaning, item, default: written })
}

function opened(blank: (node: null | undefined) => object | undefined) {
  return z
    .unknown()
    .optional()
    .transform((input, ctx): unknown => {
      const node = input as RawNode | undefined
      if (node === UNRESOLVED) {
        ctx.addIssue({ code: 'custom', params: SILENT })
        return z.NEVER
      }
      return isBlank(node) ? blank(node) : valueOf(node)
    })
}

function strict<S extends Shape>(shape: S, rules: Rule<Settings<S>>[]) {
  const known = Object.entries(shape).flatMap(([key, schema]) =>
    docOf(schema).kind === 'refused' ? [] : [key],
  )
  const example = known.slice(0, 3).join(', ')
  return z
    .strictObject(shape, {
      error: (issue) =>
        issue.code === 'unrecognized_keys'
          ? didYouMean(issue.keys, known)
          : `must be a map with keys such as ${example}, got ${describeNode(issue.input as RawNode)}`,
    })
    .superRefine(
      (settings, ctx) => {
        for (const rule of rules) {
          const broken = rule(settings)
          if (broken) ctx.addIssue({ code: 'custom', path: [broken.key], message: broken.message })
        }
      },
      { when: ({ value }) => typeof value === 'object' && value !== null && !Array.isArray(value) },
    )
}
