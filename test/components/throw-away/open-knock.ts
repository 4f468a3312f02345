import type { Authenticator, Credentials } from '../../../src/platform/credentials.ts'
import type { KnockSettings } from './knock-extension.ts'

export function openAuthenticator(id: string, { word }: KnockSettings): Authenticator {
  return {
    header: 'x-knock',
    challenge: 'Knock',
    check: (value) =>
      value === word
        ? { kind: 'known', sender: { authenticator: id } }
        : { kind: 'unknown', reason: 'that is not the word' },
    [Symbol.dispose]: () => undefined,
  }
}

export function openCredentials(): Credentials {
  throw new Error('nothing is shown to backends')
}
