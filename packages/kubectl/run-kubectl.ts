import { mayWrite, readKubectlArguments } from './kubectl-arguments.ts'
import { runKubectlAsIs, type ProgramEnd } from './run-program.ts'

export interface KubectlRun {
  readonly args: readonly string[]
  readonly endpoint: string | undefined
  readonly reason: string | undefined
  /** `k8s.cluster.name`; the context's name unless given. */
  readonly cluster: string | undefined
  readonly env: Readonly<Record<string, string | undefined>>
  /** Says a line to whoever ran it. */
  readonly complain: (text: string) => void
}

/**
 * Runs kubectl, and tells what it wrote as one change. Whatever keeps the change from being told, kubectl does its work. Rejects with a
 * ProgramMissing where there is no kubectl.
 */
export async function runKubectl(run: KubectlRun): Promise<ProgramEnd> {
  const read = readKubectlArguments(run.args)
  if (!mayWrite(read.verb)) return await runKubectlAsIs(run.args, run.env)
  // Who only reads waits for nothing that reads a kubeconfig.
  const { runWriting } = await import('./writing-kubectl.ts')
  return await runWriting(run, read)
}
