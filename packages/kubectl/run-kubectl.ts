import { mayWrite, readKubectlArguments } from './kubectl-arguments.ts'
import { type ProgramEnd, runProgram } from './run-program.ts'
import type { ChangeOptions } from './run-as-one-change.ts'

export const KUBECTL_PROGRAM = 'kubectl'

/**
 * Runs kubectl, and reports its writes as one change. If reporting fails, kubectl runs all the same. Rejects with a CliError when there is
 * no kubectl.
 */
export async function runKubectl(args: readonly string[], options: ChangeOptions): Promise<ProgramEnd> {
  const read = readKubectlArguments(args)
  if (!mayWrite(read.verb)) return await runProgram(KUBECTL_PROGRAM, args, options.env)
  // A command that only reads does not load this.
  const { runWriting } = await import('./writing-kubectl.ts')
  return await runWriting(args, read, options)
}
