import type { CliIo, Command, Run } from '../../src/cli/command-line.ts'
import type { ProgramEnd } from './run-program.ts'
import type { ChangeOptions } from './run-as-one-change.ts'

const HELP = `
causeway kubectl --reason 'ticket 4711' -- apply -f shop/ runs kubectl, and makes one change of all that it writes: the objects carry its CPID,
and Causeway gets the change at --endpoint. Everything behind -- belongs to kubectl, as do the output and the exit code. Commands that only
read run unchanged. If Causeway cannot be reached, kubectl does its work all the same, and a line on stderr says so. docs/kubectl.md says more.
The -- may be left out where no option stands behind it, as in causeway kubectl get pods.
`

export const KUBECTL: Command = {
  usage: '-- <arguments of kubectl>',
  config: 'none',
  passesOn: true,
  summary: 'run kubectl, and make one change of all that it writes',
  help: HELP,
  meanings: {
    cluster: 'the name of the cluster, as in the receivers of Causeway (default: the name of the context)',
  },
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
causeway run -- helm upgrade shop ./chart runs the command behind --, and makes one change of all that it and the programs it starts write to
the cluster, as causeway kubectl does. They find the cluster by KUBECONFIG; output, exit code and signals are the command's own. If
Causeway cannot be reached, the command does its work all the same, and a line on stderr says so. docs/kubectl.md says more.
The -- may be left out where no option stands behind it, as in causeway run make.

causeway run --config otel-config.yaml, without a command, is the same as causeway --config otel-config.yaml.
`

/** `causeway run` of a program. Without one it runs Causeway, as `server` does. */
export function runCommandOf(server: Command['load']): Command {
  return {
    usage: '[-- <command>]',
    config: 'optional',
    passesOn: true,
    summary: 'run Causeway (the default); or run a command, and make one change of all that it writes',
    help: RUN_HELP,
    meanings: {
      cluster: 'the name of the cluster, as in the receivers of Causeway (default: the name of the context)',
    },
    options: ['reason', 'endpoint', 'cluster', 'kubeconfig', 'context'],
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

/** The environment of a program, and how messages reach the person who ran it. */
function toldTo({ env, stderr }: CliIo): Pick<ChangeOptions, 'env' | 'complain'> {
  return { env, complain: (text) => void stderr.write(`causeway: ${text.replaceAll(/\s*\n\s*/g, ' ')}\n`) }
}

/** Ends this process as the program ended: by the same signal, or with its exit code. */
function endedAs({ exitCode, signal }: ProgramEnd): number {
  if (signal !== null) process.kill(process.pid, signal)
  return exitCode
}
