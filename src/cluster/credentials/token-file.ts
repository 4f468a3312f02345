import { readFile } from 'node:fs/promises'
import { errorText } from '../../model/error-text.ts'
import { bearer, type Credential } from './credential.ts'

/** A token that somebody else keeps fresh, as a kubelet does for Pods: it is read for every request. */
export function tokenFileCredential(path: string): Credential {
  return {
    async present() {
      const token = await readFile(path, 'utf8').catch((error: unknown) => {
        throw new Error(`the token in ${path} cannot be read: ${errorText(error)}`)
      })
      return { headers: bearer(token.trim()) }
    },
    refused: () => undefined,
  }
}
