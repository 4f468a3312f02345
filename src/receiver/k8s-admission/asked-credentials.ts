import type { Authenticator, Checked } from '../../trust/authenticator.ts'
import type { AdmissionThreadData, FromAdmission } from './admission-messages.ts'

/** Has the main thread check credentials: what counts guesses, and follows files, is there. */
export class AskedCredentials implements Authenticator {
  readonly header: string
  readonly challenge: string
  readonly #ask: (question: Extract<FromAdmission, { kind: 'check' }>) => void
  readonly #asked = new Map<number, (checked: Checked) => void>()
  #lastId = 0

  constructor(
    { header, challenge }: NonNullable<AdmissionThreadData['credentials']>,
    ask: (question: Extract<FromAdmission, { kind: 'check' }>) => void,
  ) {
    this.header = header
    this.challenge = challenge
    this.#ask = ask
  }

  check(value: string | undefined, peer?: string): Promise<Checked> {
    const { promise, resolve } = Promise.withResolvers<Checked>()
    const id = ++this.#lastId
    this.#asked.set(id, resolve)
    this.#ask({ kind: 'check', id, value, peer })
    return promise
  }

  /** It has been found out. */
  answer(id: number, checked: Checked): void {
    this.#asked.get(id)?.(checked)
    this.#asked.delete(id)
  }

  [Symbol.dispose](): void {
    this.#asked.clear()
  }
}
