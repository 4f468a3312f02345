import type { Command, Run } from '../../src/cli/command-line.ts'

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
  load: () => Promise.resolve(run),
}

const run: Run = async ({ args, reason, endpoint, cluster }, io) => {
  const { runKubectl } = await import('./run-kubectl.ts')
  const complain = (text: string): void =>
    void io.stderr.write(`causeway: ${text.replaceAll(/\s*\n\s*/g, ' ')}\n`)
  const { exitCode, signal } = await runKubectl({ args, reason, endpoint, cluster, env: io.env, complain })
  // As it ended, so does this.
  if (signal !== null) process.kill(process.pid, signal)
  return exitCode
}
