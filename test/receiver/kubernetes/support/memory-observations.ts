import type {
  ExistingObject,
  Observation,
  ObservationBatch,
  ObservationOutcome,
  ObservationPort,
} from '../../../../src/model/kubernetes-observations.ts'

const PAGE = 3

/** What is told of clusters, in maps; a telling is taken whole or not at all. */
export class MemoryObservations implements ObservationPort {
  readonly told: Observation[] = []
  readonly tellings: ObservationBatch[] = []
  /** What was said of how its streams are. */
  readonly streams: string[] = []
  readonly positions = new Map<string, string>()
  readonly known = new Map<string, ExistingObject>()
  /** What becomes of the tellings to come, the first of it first; they are stored when there is none. */
  readonly outcomes: ObservationOutcome[] = []

  async record(telling: ObservationBatch): Promise<ObservationOutcome> {
    const outcome = this.outcomes.shift()
    if (outcome !== undefined && outcome.kind !== 'stored') return outcome
    this.tellings.push(telling)
    for (const observation of telling.observations) this.#take(observation as Observation)
    if (telling.position !== undefined)
      this.positions.set(`${telling.cluster} ${telling.stream}`, telling.position)
    return { kind: 'stored' }
  }

  setBehind(cluster: string, receiver: string, isBehind: boolean): void {
    this.streams.push(`${cluster} ${receiver} ${isBehind ? 'behind' : 'in sync'}`)
  }

  async position(cluster: string, stream: string): Promise<string | undefined> {
    return this.positions.get(`${cluster} ${stream}`)
  }

  async knownObjects(
    _: string,
    apiVersion: string,
    resource: string,
    after: string,
  ): Promise<readonly ExistingObject[]> {
    return [...this.known.values()]
      .filter(({ identity }) => identity.apiVersion === apiVersion && identity.resource === resource)
      .filter(({ identity }) => identity.uid > after)
      .sort((one, other) => (one.identity.uid < other.identity.uid ? -1 : 1))
      .slice(0, PAGE)
  }

  #take(observation: Observation): void {
    this.told.push(observation)
    const { object: identity, version } = observation
    if (observation.source === 'list') this.known.delete(identity.uid)
    if (observation.source !== 'watch') return
    if (observation.gone) this.known.delete(identity.uid)
    else this.known.set(identity.uid, { identity, version: version ?? 0n })
  }
}
