import { number, table } from '../../charts/markdown.ts'
import type { DurationsData, Measures } from '../durations/measure.ts'
import type { Measured } from '../evaluation-data.ts'

/** Beyond the paper: which of the work that descends from a change counts as its cascade. */
export function durationsSection({ data }: Measured<DurationsData>): string {
  return `## How long a change takes

An object descends from every change ever made to it, and so does all later work on it. Were all of that activity of each of these
changes, a cascade would last until nobody touches its objects any more. It is activity of what drives
it, its cause ([ADR-031](../adr/031-what-drives-a-span.md)); in the cascades of the other changes it stands as a copy. The same
runs of the demo's and the paper's stories, in virtual time, deletions marked, measured either way; median of all cascades, and
between which values half of them lie:

${table(
  [
    [
      'story',
      'runs',
      'cascades',
      'all that descends: median',
      'longest',
      'spans',
      'what it drives: median',
      'longest',
      'spans',
      'driven by several',
    ],
    ...data.stories.map(({ story, runs, cascades, descends, driven, shared, all }) => [
      story,
      number(runs),
      number(cascades),
      ...cellsOf(descends),
      ...cellsOf(driven),
      `${number(shared)} of ${number(all)}`,
    ]),
  ],
  true,
)}

Where no later change touches a cascade both columns are the same. _Driven by several_ counts spans that are activity of more than one
change: whose cause nobody told of, though it was waited for. Of the longest that remain those of section 6.2 hold what an autoscaler
does, which answers after some seconds; the 10.54 s of section 5.1.2 hold work of the next step, ten seconds later, that followed from
the step before by what it had observed, which was not looked into further.

All is sent at once here, and much of it observes what nobody says to have written. That shows the order of giving up: where all that
waits gave up at the same moment, the median of one run of section 5.1.2 was 25.9 s, since what followed from a span that waited itself counted for
all changes that it descends from.`
}

function cellsOf({ durationMs: { median, lower, upper }, longestMs, spans }: Measures): string[] {
  return [`${seconds(median)} (${seconds(lower)} to ${seconds(upper)})`, seconds(longestMs), number(spans)]
}

function seconds(ms: number): string {
  return `${number(ms / 1_000, 2)} s`
}
