import { once } from 'node:events'
import type { ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

/** A process has ended, or never started. */
function hasEnded({ pid, exitCode, signalCode }: ChildProcess): boolean {
  return pid === undefined || exitCode !== null || signalCode !== null
}

/**
 * Waits until a process that was told to end has done so and all it had to say is here, and kills it when it takes too
 * long.
 */
export async function seeOff(child: ChildProcess, longestMs: number): Promise<void> {
  if (hasEnded(child)) return
  const gone = new AbortController()
  const ended = Promise.all([once(child, 'close'), child.connected ? once(child, 'disconnect') : undefined])
  sleep(longestMs, undefined, { signal: gone.signal, ref: false }).then(
    () => child.kill('SIGKILL'),
    () => undefined,
  )
  await ended
  gone.abort()
}

/** Calls back with every line that a process writes to its standard error. */
export function eachErrorLine(child: ChildProcess, take: (line: string) => void): void {
  if (child.stderr !== null) createInterface({ input: child.stderr }).on('line', take)
}
