import type { Measured } from '../evaluation-data.ts'
import { findingsOf, MAX_ADDED_PERCENT, PAPER, type OverheadFindings } from '../overhead/findings.ts'
import type { OverheadData } from '../overhead/measure.ts'
import type { Quartiles } from '../statistics.ts'
import { number, picture, table } from '../../charts/markdown.ts'

/** Section 5.1.1 of the paper. */
export function overheadSection({ data, machine, takenAt }: Measured<OverheadData>): string {
  const found = findingsOf(data)
  const { bridge } = data.propagation
  return `## What instrumentation costs (section 5.1.1)

One Deployment of 10 replicas is made and grows to 20, 30, 40 and 50, each time when all Pods are ready: five propagations
a run, on the real clock. Runs with instrumentation and without are in turn, in pairs of the same seed, and a turn about
in going first. Every component has the official OpenTelemetry SDK with its batch processors and sends over gRPC to a Causeway in a
process of its own, which links and sends on. Something small is rolled out before, so that connections stand and code is
warm; batches wait for 5 s, as usual, and are sent in the middle of a run. The API server is in memory and the ways to it take 1 to 15 ms; a Pod takes
725 ms to start.

Measured ${takenAt.slice(0, 10)}: ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGib} GiB, ${machine.system}, Node ${machine.node}. Other programs used
${cores(found.othersCores)} of its cores meanwhile, Causeway counted among them; the load average was ${number(data.loadBefore, 1)} before and ${number(data.loadAfter, 1)} after.

${pairsText(found)}

${picture('Propagation time by step', 'evaluation/propagation.svg')}

${table([
  ['', 'without', 'with', 'difference', 'the paper'],
  [
    'a propagation, median (quartiles)',
    ms(found.plainMs),
    ms(found.tracedMs),
    `**${signed(found.addedPercent)} %** (with 95 % confidence ${signed(found.addedBetween.from)} to ${signed(found.addedBetween.to)} %; aim: at most ${MAX_ADDED_PERCENT} %, ${found.isMet ? 'met' : 'missed'})`,
    `${PAPER.plainSeconds} s → ${PAPER.tracedSeconds} s, +${number(100 * (PAPER.tracedSeconds / PAPER.plainSeconds - 1))} %`,
  ],
  [
    'CPU of Causeway',
    `${millicores(bridge.idleMillicores)} idle`,
    `${millicores(bridge.idleMillicores + bridge.millicores)} during a run`,
    '',
    `${PAPER.millicores} mCPU (an idle API server: ${PAPER.apiServerMillicores})`,
  ],
  [
    'memory of Causeway, resident',
    `${mib(bridge.idleMib)} after the warm-up`,
    `${mib(bridge.mib)} after all runs`,
    '',
    `${PAPER.mib} MiB (an idle API server: ${PAPER.apiServerMib})`,
  ],
  [
    'writes at the API server, median',
    number(found.writes.plain.median),
    number(found.writes.traced.median),
    '',
    '',
  ],
  [
    'an object in JSON',
    `${number(found.bytesPerObject.plain)} bytes`,
    `${number(found.bytesPerObject.traced)} bytes`,
    `+${number(found.bytesPerObject.traced - found.bytesPerObject.plain)} bytes`,
    '',
  ],
  [
    'CPU of API server and all controllers for a run, median',
    `${number(found.planeCpuMs.plain.median)} ms`,
    `${number(found.planeCpuMs.traced.median)} ms`,
    '',
    '',
  ],
])}

The difference is the median over the pairs of (time of a run with instrumentation ÷ without) − 1. Here API server and
all controllers share one thread, so the CPU that telemetry takes in one of them delays the others too, and the busier the
machine the more; controllers in processes of their own wait only for themselves.

**CPU of a reconcile.** The same scenario in virtual time, where nothing ever waits: ${data.cpu.reconciles} reconciles and commands,
${data.cpu.rounds.length} rounds, the three ways in turn. The CPU is that of the whole control plane, API server and garbage collection
included.

${table([
  ['', 'CPU each, median (quartiles)', 'ratio, median (quartiles)'],
  ['not instrumented', us(found.cpuUs.plain), '1'],
  ['instrumented, telemetry kept in memory', us(found.cpuUs.recorded), times(found.cpuRatio.recorded)],
  ['instrumented, telemetry sent over gRPC', us(found.cpuUs.sent), times(found.cpuRatio.sent)],
])}

**Where this differs from the authors' cluster.**

- Their propagations are slower for reasons that are not in this model: etcd, container runtimes, a virtual machine. What can
  be compared is what instrumentation adds.
- Their library more than doubles the time. Nothing of ours is waited for: mergelogs and spans go into batches in memory, and a
  merge takes microseconds (\`npm run bench\`). What remains is CPU of the controllers themselves.
- A reconcile in this model does little besides writing to an API server in memory, so the ratio above is as high as it can
  be; a controller that encodes, sends and decodes real requests spends more without telemetry.
- Causeway answers only after a commit to disk, links, and sends on to a backend while it runs; the paper's trace server keeps
  what comes in in memory. Its CPU is that of many small requests: each
  component has a connection of its own for spans and one for logs. Its memory is that of Node with four threads, each with
  a heap of its own, and what their garbage collectors leave for later; \`npm run bench\` has both under full load.`
}

function pairsText({ counted, areCalm, ofAll }: OverheadFindings): string {
  const all = `all ${ofAll.pairs} pairs: ${signed(ofAll.addedPercent)} % (with 95 % confidence ${signed(ofAll.addedBetween.from)} to ${signed(ofAll.addedBetween.to)} %)`
  const rule = 'A pair is calm when other programs left at least half of the cores in both of its runs'
  return areCalm
    ? `${rule}; those ${counted} are what the figures below are of. Of ${all}.`
    : `${rule}. Too few were, so the figures below are of ${all}.`
}

function ms({ median, lower, upper }: Quartiles): string {
  return `${number(median)} ms (${number(lower)} to ${number(upper)})`
}

function us({ median, lower, upper }: Quartiles): string {
  return `${number(median)} µs (${number(lower)} to ${number(upper)})`
}

function times({ median, lower, upper }: Quartiles): string {
  return `${number(median, 2)} (${number(lower, 2)} to ${number(upper, 2)})`
}

export function signed(value: number): string {
  return `${value < 0 ? '−' : '+'}${number(Math.abs(value), 1)}`
}

export function cores({ median, lower, upper }: Quartiles): string {
  return `${number(median, 1)} (quartiles ${number(lower, 1)} to ${number(upper, 1)})`
}

/** Where there is no /proc nothing is known, and JSON says null. */
function millicores(value: number | null): string {
  return value === null ? 'not known' : `${number(value, 1)} mCPU`
}

function mib(value: number | null): string {
  return value === null ? 'not known' : `${number(value)} MiB`
}
