import type { Measured } from '../evaluation-data.ts'
import { FLOOR } from '../merges/criteria.ts'
import type { MergesData, MergesPoint } from '../merges/measure.ts'
import { LIMITS } from '../merges/paper.ts'
import { number, picture, table } from '../../charts/markdown.ts'

/** Section 5.1.2 of the paper. */
export function mergesSection({ data }: Measured<MergesData>): string {
  const { points, seeds, roots, variants, variantSeeds } = data
  return `## How many mergelogs (section 5.1.2)

Five Deployments; the replicas of all are changed to 1 and to 3 in turn, four times; the operator waits ten seconds between
two steps. Every controller is instrumented. Time is virtual, so a run is a function of its seed: ${seeds} seeds, mean and
standard error. A merge is a mergelog with sources; the ${roots} root mergelogs of a run (five Deployments, eight steps) are
not counted.

${picture('Merges by N', 'evaluation/merges.svg')}
${picture('Merges in percent of those without ancestors', 'evaluation/merges-percent.svg')}

${table(
  [
    [
      'N',
      'merges',
      'standard error',
      'of N = 0',
      'the paper',
      '(merges − floor) ÷ (at N = 0 − floor)',
      'at most',
    ],
    ...points.map(row),
  ],
  true,
)}

The floor is seven for each Deployment, ${FLOOR} in all: every update brings a root change together with what the Deployment
carried, and no list of ancestors can know of a change that has just begun. The paper's text gives only the numbers in the
table for its Figure 11, and that the floor is reached from N = 15.

**Where this differs from the authors' cluster.**

- Their percentages cannot have come from a floor of 7 in ${number(points[0]?.merges.mean ?? 0)}: below 8 % at N = 10, a floor of ${FLOOR} means more
  than ${Math.floor(FLOOR / 0.08)} mergelogs at N = 0. We merge only when a controller writes. When the same controllers merge in every
  reconcile, also in one that then writes nothing, as the paper's section 4.3 can be read, the same run has
  ${mean(data, 'every reconcile', 0)} at N = 0, and then N = 10 is at ${share(data, 'every reconcile', 10)} and N = 5 at ${share(data, 'every reconcile', 5)} of it. The floor stays.
- How fast the count falls before N = 5 depends on how ancestors are handed on. Line 17 of Algorithm 1 as printed makes a CPID
  that takes the place of its ancestors learn nothing from their lists; the library does what the comment beside it says.
  As printed, N = 2 is at ${share(data, 'Algorithm 1', 2)} instead of ${number(points.find(({ limit }) => limit === 2)?.percent ?? Number.NaN, 1)} %, N = 3 at ${share(data, 'Algorithm 1', 3)}; with both differences, N = 1 is at
  ${share(data, 'both:', 1)}, N = 2 at ${share(data, 'both:', 2)}, N = 5 at ${share(data, 'both:', 5)} and N = 10 at ${share(data, 'both:', 10)}. Which of this the authors' code did,
  the paper does not say; the quarter at N = 5 is not explained by it.
- The standard error is small or nothing: with so few Pods nearly every event is handled alone, whatever the delays. In the
  authors' cluster events also run together at random.

What the count depends on, ${variantSeeds} seed${variantSeeds === 1 ? '' : 's'} each, means. Nothing here was chosen to come near the paper:

${table(
  [
    ['run', ...LIMITS.map((limit) => `N = ${limit}`)],
    ['as above', ...points.map(({ merges }) => count(merges.mean))],
    ...variants.map(({ name, means }) => [name, ...means.map(count)]),
  ],
  true,
)}

The last two have other changes or changes that overlap, so the floor of ${FLOOR} does not apply to them.`
}

function row({
  limit,
  merges,
  percent,
  paperPercent,
  isPaperFloor,
  avoidable,
  atMost,
}: MergesPoint): string[] {
  return [
    String(limit),
    count(merges.mean),
    number(merges.standardError, 2),
    `${number(percent, 1)} %`,
    paperPercent === undefined ? (isPaperFloor ? 'the floor' : '') : `${paperPercent} %`,
    number(avoidable, 3),
    atMost === undefined ? '' : String(atMost),
  ]
}

function mean({ variants }: MergesData, part: string, limit: number): string {
  return count(meanAt(variants, part, limit))
}

function share({ variants }: MergesData, part: string, limit: number): string {
  return `${number((100 * meanAt(variants, part, limit)) / meanAt(variants, part, 0), 1)} %`
}

function meanAt(variants: MergesData['variants'], part: string, limit: number): number {
  const variant = variants.find(({ name }) => name.includes(part))
  return variant?.means[LIMITS.findIndex((one) => one === limit)] ?? Number.NaN
}

function count(value: number): string {
  return number(value, Number.isInteger(value) ? 0 : 1)
}
