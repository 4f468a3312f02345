import type { CliIo, Command, Run } from '../../src/cli/command-line.ts'
import type { ProgramEnd } from './run-program.ts'
import type { ChangeOptions } from './run-as-one-change.ts'

const HELP = `
causeway kubectl --reason 'ticket 4711' -- apply -f shop/ runs kubectl and makes all that it writes one change: the objects carry its CPID,
and the change is sent to Causeway at --endpoint. The arguments after -- are those of kubectl, and so are the output and the exit code.
Commands that only read run unchanged. If Causeway cannot be reached, kubectl does its work all the same, and a line on stderr says so.
docs/kubectl.md says more. The -- may be left out if no option follows it, as in causeway kubectl get pods.
`

export const KUBECTL: Command = {
  usage: '-- <arguments of kubectl>',
  config: 'none',
  passesOn: true,
  summary: 'run kubectl and make all that it writes one change',
  help: HELP,
  meanings: {
    cluster: 'the name of the cluster, as Causeway’s receivers have it (default: the name of the context)',
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
causeway run -- helm upgrade shop ./chart runs the command after --, and makes all that it and the programs it starts write to the cluster one
change, as causeway kubectl does. These programs find the cluster by KUBECONFIG. Output, exit code and signals are those of the command. If
Causeway cannot be reached, the command does its work all the same, and a line on stderr says so. docs/kubectl.md says more.
The -- may be left out if no option follows it, as in causeway run make.

causeway run --config otel-config.yaml, without a command, is the same as causeway --config otel-config.yaml.
`

/** `causeway run` of a program. Without one it runs Causeway, as `server` does. */
export function runCommandOf(server: Command['load']): Command {
  return {
    usage: '[-- <command>]',
    config: 'optional',
    passesOn: true,
    summary: 'run Causeway (the default), or run a command and make all that it writes one change',
    help: RUN_HELP,
    meanings: {
      cluster: 'the name of the cluster, as Causeway’s receivers have it (default: the name of the context)',
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
