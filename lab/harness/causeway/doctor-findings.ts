import { runCli } from '../../../src/cli/commands.ts'
import { argumentsFor, type CausewaySettings } from './causeway-settings.ts'

/** What causeway doctor finds, each as `state: message`. */
export async function doctorFindings(settings: CausewaySettings): Promise<string[]> {
  let stdout = ''
  await runCli(['doctor', ...argumentsFor(settings), '--format', 'json'], {
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: () => undefined },
    readInput: () => Promise.resolve(''),
    terminalWidth: undefined,
    env: {},
    run: () => Promise.reject(new Error('doctor runs nothing')),
  })
  const { findings } = JSON.parse(stdout) as { findings: { state: string; message: string }[] }
  return findings.map(({ state, message }) => `${state}: ${message}`)
}
