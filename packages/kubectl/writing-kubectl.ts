import type { KubectlArguments } from './kubectl-arguments.ts'
import { publicArguments } from './public-arguments.ts'
import { KUBECTL_PROGRAM } from './run-kubectl.ts'
import type { ProgramEnd } from './run-program.ts'
import { type ChangeOptions, runAsOneChange } from './run-as-one-change.ts'

/** Runs a kubectl command that may write, and reports its writes as one change; runs it unchanged if that is not possible. */
export async function runWriting(
  args: readonly string[],
  read: KubectlArguments,
  options: ChangeOptions,
): Promise<ProgramEnd> {
  const { verb, others, connection } = read
  const [program, service] = [KUBECTL_PROGRAM, KUBECTL_PROGRAM]
  const told = { program, args, argsWithout: others, connection, service, command: `${service} ${verb}` }
  return await runAsOneChange(
    {
      ...told,
      shown: [service, ...publicArguments(args)],
      whyNotTraced: isAttached(read)
        ? 'kubectl cannot be traced while a terminal is attached; create the Pod first, then attach to it'
        : undefined,
    },
    options,
  )
}

/** Whether a command attaches a terminal: kubectl then sends CONNECT to a proxy, which this proxy does not support. */
function isAttached({ verb, others }: KubectlArguments): boolean {
  const attaching = /^(?:-[a-z]*[it][a-z]*|--(?:stdin|tty|attach)(?:=true)?)$/
  const end = others.indexOf('--')
  const own = end === -1 ? others : others.slice(0, end)
  return verb === 'debug' || (verb === 'run' && own.some((arg) => attaching.test(arg)))
}
