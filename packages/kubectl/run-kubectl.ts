import { mayWrite, readKubectlArguments } from './kubectl-arguments.ts'
import { type ProgramEnd, runProgram } from './run-program.ts'
import type { ChangeOptions } from './run-as-one-change.ts'

export const KUBECTL_PROGRAM = 'kubectl'

/**
 * Runs kubectl, and tells what it wrote as one change. Whatever keeps the change from being told, kubectl does its work. Rejects with a
 * CliError where there is no kubectl.
 */
export async function runKubectl(args: readonly string[], options: ChangeOptions): Promise<ProgramEnd> {
  const read = readKubectlArguments(args)
  if (!mayWrite(read.verb)) return await runProgram(KUBECTL_PROGRAM, args, options.env)
  // Who only reads waits for nothing that reads a kubeconfig.
  const { runWriting } = await import('./writing-kubectl.ts')
  return await runWriting(args, read, options)
}
