import { number, table } from '../../charts/markdown.ts'
import type { Measured } from '../evaluation-data.ts'
import { type InformerPair, type InformerRun, type InformersData, LANGUAGES } from '../informers/measure.ts'
import { quartilesOf } from '../statistics.ts'

type Figure = keyof InformerRun

/** What a traced informer holds and takes beside one without, in both languages. */
export function informersSection({ data, machine, takenAt }: Measured<InformersData>): string {
  const { objects, changes, load, pairs } = data
  const rows = LANGUAGES.flatMap((language) => rowsOf(language, pairs[language], data))
  return `## What a traced informer holds

One informer of ${number(objects)} ConfigMaps of about 1 KiB, each with a CPID and two entries of managedFields, once by itself and once
traced: controller-runtime's cache in Go, \`makeInformer\` of \`@kubernetes/client-node\` in TypeScript. A server on the same machine lists them,
and then tells of ${number(changes)} changes as fast as they are taken. The heap is what is left of it after a collection; the CPU is
the whole process, for both.

Measured ${takenAt.slice(0, 10)}: ${machine.cpu}, ${machine.cores} cores, Node ${machine.node}; the load average was ${number(load, 1)} at the beginning, so that times vary and the
heap does not. ${howMany(pairs.Go.length)}

${table([['', 'by itself', 'traced', 'more for each'], ...rows])}

The library keeps a digest of each object that an informer holds, by which it knows who wrote the next version. In TypeScript it also keeps
the version itself, which the informer holds as well.`
}

const howMany = (pairs: number): string =>
  pairs === 1 ? 'One pair of runs.' : `Medians of ${pairs} pairs, which take turns in going first.`

function rowsOf(
  language: string,
  pairs: readonly InformerPair[],
  { objects, changes }: Pick<InformersData, 'objects' | 'changes'>,
): string[][] {
  const both = (figure: Figure): [number, number] => [
    quartilesOf(pairs.map(({ plain }) => plain[figure])).median,
    quartilesOf(pairs.map(({ traced }) => traced[figure])).median,
  ]
  const time = (what: string, figure: Figure, each: number, of: string): string[] => {
    const [plain, traced] = both(figure)
    const more = (1_000 * (traced - plain)) / each
    return [`${language}: ${what}`, seconds(plain), seconds(traced), `${number(more)} µs ${of}`]
  }
  const [plain, traced] = both('heapMib')
  return [
    [
      `${language}: heap`,
      `${number(plain)} MiB`,
      `${number(traced)} MiB`,
      `${number(((traced - plain) * 2 ** 20) / objects)} B an object`,
    ],
    time('until it is filled', 'filledMs', objects, 'an object'),
    time('until all changes are told', 'changedMs', changes, 'a change'),
    time('CPU', 'cpuMs', objects + changes, 'an event'),
  ]
}

function seconds(ms: number): string {
  return `${number(ms / 1_000, 2)} s`
}
