import { number, table } from '../../charts/markdown.ts'
import type { Measured } from '../evaluation-data.ts'
import { findingsOf, MOST_MORE_MS } from '../operator/findings.ts'
import type { OperatorData } from '../operator/measure.ts'
import { PAPER } from '../overhead/findings.ts'
import type { Quartiles } from '../statistics.ts'
import { cores, signed } from './overhead-section.ts'

/** Beyond the paper's model: what the library costs an operator where everything else is real. */
export function operatorSection({ data, machine, takenAt }: Measured<OperatorData>): string {
  const found = findingsOf(data)
  const { kubectlMs } = found
  return `## What instrumentation costs on a real cluster

The operator of \`examples/operator\` (\`@kubernetes/client-node\`, a queue that is worked off one after the other), plain and with the library, on
Kubernetes ${data.kubernetes}: API server, etcd, controllers and scheduler as they are released, kwok in the place of kubelets.
${data.webApps} WebApps of one replica are created at once; each becomes a Deployment, a Service and several writes of its
status. Then everything is deleted, and the other operator has its turn: ${data.pairs.length} pairs, a turn about in going first. The instrumented one sends by OTLP over HTTP, with batches as the SDK has them, to a Causeway on the same machine, which commits all of it. CPU is that of the operator's
process, and goes on until all batches are sent.

Measured ${takenAt.slice(0, 10)}: ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGib} GiB, ${machine.system}, Node ${machine.node}. **The machine is shared**:
the whole cluster, Causeway and the work of others ran on the same ${machine.cores} cores, of which all but the operator used ${cores(found.othersCores)};
the load average was ${number(found.load.least, 1)} to ${number(found.load.most, 1)}. So the times are longer than on a machine of one's own, and vary; both operators had the same in turn.

${table([
  ['', 'plain', 'instrumented', 'difference', 'the paper'],
  [
    `until all ${data.webApps} are ready, median (quartiles)`,
    seconds(found.readyMs.plain),
    seconds(found.readyMs.traced),
    `${signed(found.added.percent)} % (${signed(found.added.from)} to ${signed(found.added.to)} %)`,
    `${PAPER.plainSeconds} s → ${PAPER.tracedSeconds} s, +${number(100 * (PAPER.tracedSeconds / PAPER.plainSeconds - 1))} %`,
  ],
  [
    'CPU of the operator for it',
    seconds(found.cpuMs.plain),
    seconds(found.cpuMs.traced),
    `× ${number(found.cpuMs.traced.median / found.cpuMs.plain.median, 2)}`,
    '',
  ],
  [
    'CPU of the operator for each WebApp, all its reconciles',
    `${number(found.cpuMsEach.plain, 1)} ms`,
    `${number(found.cpuMsEach.traced, 1)} ms`,
    `+${number(found.cpuMsEach.traced - found.cpuMsEach.plain, 1)} ms`,
    '',
  ],
  ['memory of the operator at the end', mib(found.mib.plain), mib(found.mib.traced), '', ''],
])}

The difference in time is the median over the pairs of (instrumented ÷ plain) − 1, with ${data.pairs.length < 6 ? 'the least and the most of them' : 'its 95 % confidence'}. The paper's figures
are of another scenario, a Deployment that grows to 50 Pods with four instrumented components in kind; what can be compared is what
instrumentation adds. ${PAPER.plainSeconds} s and ${PAPER.tracedSeconds} s are its means of one propagation of five, without and with instrumentation.

**\`causeway kubectl\`.** \`kubectl apply\` of one changed Deployment and the same behind \`causeway kubectl --\`, ${data.kubectl.pairs.length} of each in turn, with Causeway told
and answering, ${howRun(data)}: ${ms(kubectlMs.kubectl)} and ${ms(kubectlMs.causeway)}, **${number(kubectlMs.more.median)} ms more**
(quartiles ${number(kubectlMs.more.lower)} to ${number(kubectlMs.more.upper)}; aim: under ${MOST_MORE_MS} ms, ${kubectlMs.isMet ? 'met' : 'missed'}), and ${number(kubectlMs.moreCpu.median)} ms more of a
processor, which the load changes less.${data.kubectl.isBuilt === true ? '' : ' Built, and on a machine with little else to do, it takes less: [kubectl.md](../kubectl.md#what-it-costs).'}`
}

/** In which state it was, and on how busy a machine. */
export function howRun({ kubectl: { load, isBuilt } }: OperatorData): string {
  return `${isBuilt === true ? 'built' : 'run from its sources'}, load average ${number(load, 1)}`
}

function seconds({ median, lower, upper }: Quartiles): string {
  return `${number(median / 1_000, 2)} s (${number(lower / 1_000, 2)} to ${number(upper / 1_000, 2)})`
}

function ms({ median, lower, upper }: Quartiles): string {
  return `${number(median)} ms (quartiles ${number(lower)} to ${number(upper)})`
}

/** Where there is no /proc nothing is known. */
function mib({ median }: Quartiles): string {
  return Number.isNaN(median) ? 'not known' : `${number(median)} MiB`
}
