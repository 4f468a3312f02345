/** What all senders with one credential have under way; without a name those that show none. */
export interface Credential {
  readonly name: string
  requests: number
  bytes: number
}

/** What one sender has under way. */
export class Flow {
  readonly id: number
  /** As shown to people: the credential, the cluster and the service, or what is known of them. */
  readonly name: string
  /** What its sender proved of itself; shared by all flows of that sender. */
  readonly credential: Credential
  requests = 0
  bytes = 0
  /** When it last had something under way, in milliseconds of `performance.now()`. */
  activeMs = -Infinity
  #refused = 0

  constructor(id: number, name: string, credential: Credential = { name: '', requests: 0, bytes: 0 }) {
    this.id = id
    this.name = name
    this.credential = credential
  }

  refused(): void {
    this.#refused++
  }

  /** How many of its requests were refused since this was last asked. */
  takeRefused(): number {
    const refused = this.#refused
    this.#refused = 0
    return refused
  }
}
