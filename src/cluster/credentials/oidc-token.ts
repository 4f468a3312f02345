import { readFile } from 'node:fs/promises'
import { errorText } from '../../model/error-text.ts'
import { bearer, type Credential } from './credential.ts'

/** What a kubeconfig says of the provider `oidc`; texts are empty where it says nothing. */
export interface OidcUser {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  readonly idToken: string
  readonly refreshToken: string
  /** Who signed the issuer's certificate, PEM; a file or the text itself. */
  readonly caFile: string
  readonly caPem: string
}

/** A token that would run out on its way counts as run out. */
const LEEWAY_MS = 10_000

/**
 * The id token of the kubeconfig, refreshed at its issuer when it runs out. What the issuer gives instead of the refresh token is
 * kept in memory alone: the file is not written to.
 */
export function oidcCredential(user: OidcUser, nowMs: () => number = () => Date.now()): Credential {
  let { idToken, refreshToken } = user
  let running: Promise<string> | undefined
  const refresh = async (): Promise<string> => {
    if (refreshToken === '' || user.issuer === '')
      throw new Error('the id token ran out, and the kubeconfig has nothing to refresh it with; log in again')
    try {
      ;({ idToken, refreshToken } = await askIssuer(user, refreshToken))
    } catch (error) {
      throw new Error(`${user.issuer} gives no new token: ${errorText(error)}; log in again`, {
        cause: error,
      })
    }
    return idToken
  }
  return {
    async present() {
      if (expiryMs(idToken) > nowMs() + LEEWAY_MS) return { headers: bearer(idToken) }
      running ??= refresh().finally(() => (running = undefined))
      return { headers: bearer(await running) }
    },
    refused: () => (idToken = ''),
  }
}

async function askIssuer(
  user: OidcUser,
  refreshToken: string,
): Promise<{ idToken: string; refreshToken: string }> {
  const client = await import('openid-client')
  const { fetchTrusting } = await import('./fetch-trusting.ts')
  const ca = user.caFile === '' ? user.caPem : await readFile(user.caFile, 'utf8')
  const options = ca === '' ? {} : { [client.customFetch]: fetchTrusting(ca) }
  const issuer = new URL(user.issuer)
  const secret = user.clientSecret === '' ? undefined : user.clientSecret
  const configuration = await client.discovery(issuer, user.clientId, secret, undefined, options)
  const answer = await client.refreshTokenGrant(configuration, refreshToken)
  if (answer.id_token === undefined) throw new Error('its answer holds no id token')
  return { idToken: answer.id_token, refreshToken: answer.refresh_token ?? refreshToken }
}

/** When a token runs out; at once where it does not say. Nobody is trusted by this: the API server checks it. */
function expiryMs(token: string): number {
  const [, claims = ''] = token.split('.')
  try {
    const { exp } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { exp?: unknown }
    return typeof exp === 'number' ? exp * 1_000 : 0
  } catch {
    return 0
  }
}
