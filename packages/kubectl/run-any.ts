import { basename } from 'node:path'
import { COMMAND_WORD, shownArguments } from './public-arguments.ts'
import type { ProgramEnd } from './run-program.ts'
import { type ChangeOptions, runAsOneChange } from './run-as-one-change.ts'

/** Where a program's kubeconfig comes from. */
interface Chosen {
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
}

/**
 * Runs any program that reads a kubeconfig, and tells what it wrote as one change. Whatever keeps the change from being told, the program
 * does its work. Rejects with a CliError where it cannot be started.
 */
export async function runAny(
  [program = '', ...args]: readonly string[],
  { kubeconfig, context }: Chosen,
  options: ChangeOptions,
): Promise<ProgramEnd> {
  const service = basename(program).replace(/\.exe$/i, '')
  const shown = shownArguments(args)
  const [first = ''] = args
  const connection = {
    ...(kubeconfig !== undefined && { kubeconfig }),
    ...(context !== undefined && { context }),
  }
  return await runAsOneChange(
    {
      ...{ program, args, argsWithout: args, connection, service, isUnknown: true },
      ...{ command: COMMAND_WORD.test(first) ? `${service} ${first}` : service, shown: [service, ...shown] },
    },
    options,
  )
}
