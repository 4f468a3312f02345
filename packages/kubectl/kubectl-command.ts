import type { CliIo, Command, Run } from '../../src/cli/command-line.ts'
import type { ProgramEnd } from './run-program.ts'
import type { ChangeOptions } from './told-run.ts'

const HELP = `
Runs kubectl, and makes one change of all that it writes: objects carry the change, and Causeway is told of it at --endpoint by OTLP over
HTTP, with --reason where one is given. Everything behind -- is kubectl's own, and so are its output and its exit code. What only
reads is handed to kubectl as it is. Where Causeway is not reached, kubectl does its work all the same, and a line on stderr says
so. --cluster is the name that receivers of the same cluster have; it is that of the context unless given.
`

export const KUBECTL: Command = {
  usage: '-- <arguments of kubectl>',
  config: 'none',
  passesOn: true,
  summary: 'run kubectl, and have all that it writes be one change',
  help: HELP,
  meanings: { cluster: 'the k8s.cluster.name of the cluster that is written to' },
  options: ['reason', 'endpoint', 'cluster'],
  leastArgs: 1,
  mostArgs: Number.POSITIVE_INFINITY,
  load: () => Promise.resolve(runsKubectl),
}

const runsKubectl: Run = async ({ args, reason, endpoint, cluster }, io) => {
  const { runKubectl } = await import('./run-kubectl.ts')
  return endedAs(await runKubectl(args, { reason, endpoint, cluster, ...toldTo(io) }))
}

const RUN_HELP = `
causeway run -- helm upgrade shop ./chart runs what stands behind --, and makes one change of all that it writes to the cluster, as causeway
kubectl does: objects carry the change, and Causeway is told of it at --endpoint by OTLP over HTTP, with --reason where one is given. The
program is given a kubeconfig by KUBECONFIG, and whatever it starts too; its output, exit code and signals are its own. Where Causeway is
not reached, it does its work all the same, and a line on stderr says so. --cluster is the name that receivers of the same cluster
have; it is that of the context unless given.
`

/** `causeway run` of a program. Without one it runs Causeway, as `server` does. */
export function runCommandOf(server: Command['load']): Command {
  return {
    usage: '[-- <command>]',
    config: 'optional',
    passesOn: true,
    summary:
      'run Causeway, as causeway does without a command; or a command, and have all that it writes be one change',
    help: RUN_HELP,
    meanings: { cluster: 'the k8s.cluster.name of the cluster that is written to' },
    options: ['reason', 'endpoint', 'cluster', 'kubeconfig', 'context'],
    leastArgs: 0,
    mostArgs: Number.POSITIVE_INFINITY,
    load: () => Promise.resolve(runsAny(server)),
  }
}

function runsAny(server: Command['load']): Run {
  return async (line, io) => {
    const { args, reason, endpoint, cluster, kubeconfig, context } = line
    if (args.length === 0) return await (await server())(line, io)
    const { runAny } = await import('./run-any.ts')
    const options = { reason, endpoint, cluster, ...toldTo(io) }
    return endedAs(await runAny(args, { kubeconfig, context }, options))
  }
}

/** Where a program runs, and how whoever typed it is told something. */
function toldTo({ env, stderr }: CliIo): Pick<ChangeOptions, 'env' | 'complain'> {
  return { env, complain: (text) => void stderr.write(`causeway: ${text.replaceAll(/\s*\n\s*/g, ' ')}\n`) }
}

/** As the program ended, so does this. */
function endedAs({ exitCode, signal }: ProgramEnd): number {
  if (signal !== null) process.kill(process.pid, signal)
  return exitCode
}
