/** What a request shows of who asks. */
export interface Presented {
  readonly headers: Readonly<Record<string, string | string[]>>
  /** A client certificate and its key, PEM. */
  readonly cert?: string
  readonly key?: string
}

/** By what the API server is to know who asks; tokens run out, and so do certificates of plugins. */
export interface Credential {
  /** What is shown, where that never changes. */
  readonly fixed?: Presented
  /** What to show now; obtained anew where it ran out. Rejects with what to do. */
  present(): Promise<Presented>
  /** The API server did not take it: what is remembered is not shown again. */
  refused(): void
}

/** What never changes: certificates, a token or a password of a kubeconfig, nothing at all. */
export function fixedCredential(presented: Presented): Credential {
  return { fixed: presented, present: () => Promise.resolve(presented), refused: () => undefined }
}

export const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` })

/** Shows what both show; each has its own part of it. */
export function bothCredentials(one: Credential, other: Credential): Credential {
  return {
    async present() {
      const [first, second] = await Promise.all([one.present(), other.present()])
      return { ...first, ...second, headers: { ...first.headers, ...second.headers } }
    },
    refused() {
      one.refused()
      other.refused()
    },
  }
}
