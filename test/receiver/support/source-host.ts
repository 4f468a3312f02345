import type { Authenticator } from '../../../src/platform/credentials.ts'
import { Flows } from '../../../src/receiver/flows.ts'
import { InFlight } from '../../../src/receiver/in-flight.ts'
import type { ReceiverHost } from '../../../src/receiver/receiver-type.ts'
import { MemoryObservations } from '../kubernetes/support/memory-observations.ts'
import { RecordingPort } from './recording-port.ts'

/** What a receiver of a cluster is given, and what it said. */
export class SourceHost {
  readonly store = new MemoryObservations()
  readonly memory = { isRefusing: false }
  readonly troubles: string[] = []
  readonly turnedAway: string[] = []
  readonly skipped: Record<string, number> = {}
  told = 0
  unreadable = 0
  lost = 0
  behind = 0

  of(host: Partial<ReceiverHost> = {}, authenticator?: Authenticator): ReceiverHost {
    return {
      ingestPort: new RecordingPort(),
      observationPort: this.store,
      reading: { references: [], fieldValues: 'plain' },
      observer: {
        answered: () => undefined,
        unauthenticated: ({ reason }) => void this.turnedAway.push(reason),
        dropped: () => undefined,
        unread: () => undefined,
      },
      clusterObserver: {
        recorded: (_, count) => void (this.told += count),
        skipped: (_, reason, count) => void (this.skipped[reason] = (this.skipped[reason] ?? 0) + count),
        unreadable: (_, count) => void (this.unreadable += count),
        lost: (_, count) => void (this.lost += count),
        behind: (_, bytes) => void (this.behind = bytes),
        relisted: () => undefined,
        watched: () => undefined,
        refused: () => undefined,
      },
      inFlight: new InFlight(),
      flows: new Flows(),
      memory: this.memory,
      maxConnections: 100,
      maxConnectionsPerAddress: 100,
      requestTimeoutMs: 5_000,
      shutdownGraceMs: 500,
      authenticatorOf: () => (authenticator === undefined ? {} : { authenticator }),
      started: () => undefined,
      onTrouble: (reason) => void this.troubles.push(reason),
      onWarning: () => undefined,
      ...host,
    }
  }
}
