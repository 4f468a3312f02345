import { Pauses, type Waiting } from '../../cluster/waiting.ts'
import type { ObservationBatch } from '../../model/kubernetes/observation-batch.ts'
import type { ObservationPort } from '../../model/ports/observation-port.ts'

export interface ObservationSender {
  readonly port: ObservationPort
  readonly waiting: Waiting
  /** Nothing is told while memory is short. */
  readonly memory: { readonly isRefusing: boolean }
  readonly onTrouble: (reason: string) => void
}

const MEMORY_PAUSE_MS = 1_000

/** Resolves once it is durable, told as often as it takes. Rejects when it is not before the signal aborts. */
export async function sendUntilStored(
  teller: ObservationSender,
  telling: ObservationBatch,
  signal: AbortSignal,
): Promise<void> {
  const { port, waiting, memory, onTrouble } = teller
  const pauses = new Pauses(waiting)
  for (;;) {
    signal.throwIfAborted()
    if (memory.isRefusing) {
      await waiting.sleep(MEMORY_PAUSE_MS, signal)
      continue
    }
    const outcome = await port.tell(telling)
    switch (outcome.kind) {
      case 'stored':
        return
      case 'busy':
        await waiting.sleep(outcome.retryAfterMs, signal)
        break
      case 'failed':
        onTrouble(`what was seen of the cluster ${telling.cluster} is told again later: ${outcome.reason}`)
        await pauses.pause(signal)
    }
  }
}
